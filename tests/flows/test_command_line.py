"""Arguments that fit nothing: one clear error, the right exit code, no traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from envs import registry
from envs.scienceworld import jvm
from flows.cli import doctor, main
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import EnvironmentFault
from ocm.identity import chain_id
from tests.envs.echo import echo
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    writer = ChainWriter(tmp_path, "demo", CHAIN, KEY)
    for episode in fake_chain(KEY, 2, steps=3):
        writer.commit(episode)
    write_manifest(tmp_path, "demo", {"name": "demo"}, [PlannedChain(CHAIN, KEY, 2)], {})
    return tmp_path


def ocm(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    "command", [["results"], ["digest"], ["mlflow", "sync"], ["sql", "--sweep"], ["show", "a", 0, "--sweep"]]
)
@pytest.mark.parametrize("name", ["other", "", "../demo", "größe"])
def test_an_unknown_sweep(
    root: Path, command: list[object], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm(*command, name, "--root", root) == 2
    assert f"no sweep {name!r}; it has demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT 1; SELECT 2", "2 statements; give exactly one"),
        (";", "0 statements"),
        ("SELECT nothing FROM episodes", "nothing"),
        ("SELECT 1 AS a, 2 AS a", "several columns are called a"),
    ],
)
def test_a_wrong_statement(
    root: Path, statement: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("sql", statement, "--root", root, "--format", "jsonl") == 2
    assert expected in capsys.readouterr().err


def test_the_memory_before_the_first_episode(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("knowledge", "diff", CHAIN, -1, "--root", root) == 0
    assert capsys.readouterr().out.startswith("--- ")
    assert ocm("knowledge", "diff", CHAIN, -2, "--root", root) == 2


def test_knowledge_that_is_not_there(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("knowledge", "show", CHAIN, "no_such_thing", "--root", root) == 2
    shown = capsys.readouterr()
    assert "no_such_thing" in shown.err
    assert not shown.out


def test_a_full_disk_under_the_output(root: Path) -> None:
    command = [sys.executable, "-m", "flows.cli", "digest", "demo", "--root", str(root)]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: [Errno 28]")


def test_a_failed_chain_leaves_no_traceback_of_prefect() -> None:
    """Its message is told by us; Prefect logged the exception of every failed task."""
    code = (
        "from flows.quiet import quiet_services; quiet_services(); import logging, prefect.main; "
        "print(*(logging.getLogger(f'prefect.{kind}').isEnabledFor(logging.ERROR) "
        "for kind in ('task_runs', 'flow_runs')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "False"]


def test_the_doctor_tells_of_memory_java_and_each_environment(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing for one environment does not keep the others from being played."""
    without_data = replace(echo(name="echo"), default_task_set="gone")
    too_large = replace(echo(10**9, name="large"), default_task_set="all")
    shown = {"plancraft": registry.entry("plancraft"), "echo": without_data, "large": too_large}
    monkeypatch.setattr(registry, "ENVIRONMENTS", shown)
    monkeypatch.setattr(jvm, "java", Mock(side_effect=EnvironmentFault("there is no Java; run: this")))
    assert ocm("doctor", "--root", root) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["memory"].endswith("MB available")
    assert lines["java"] == "there is no Java; run: this"
    assert re.search(r", 117 tasks in test.small, [1-9]\d* hosts of 150 MB fit$", lines["plancraft"])
    assert lines["echo"] == "echo has one task set: all"
    assert lines["large"].endswith("too little memory: 1000000000 MB")


def test_the_doctor_finds_java() -> None:
    assert re.search(r"java.*: .*version", doctor.java_version())


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("#!/bin/sh\necho no runtime >&2\nexit 1\n", "does not start, saying 'no runtime'; mend it"),
        ("#!/bin/sh\nsleep 60\n", "does not start: .*timed out.*; mend it"),
        ("\x7fELF nothing", "does not start: .*format.*; mend it"),
    ],
)
def test_the_doctor_names_a_java_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    """It waited for ever, ended before telling of the environments, or took a complaint for a version."""
    (tmp_path / "java").write_text(script)
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(doctor, "JAVA_SECONDS", 1.0)
    with pytest.raises(EnvironmentFault, match=told):
        doctor.java_version()


def test_the_doctor_asks_java_as_scienceworld_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dx=1")
    assert "Picked up" not in doctor.java_version()


def test_games_are_not_put_where_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told before anything is fetched."""
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file", tmp_path / "file" / "deeper"):
        monkeypatch.setenv("ALFWORLD_DATA", str(target))
        assert ocm("data", "alfworld") == 2
        assert f"cannot put games into {target}: {tmp_path / 'file'} is not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], "A.R."),
        (["--ranks", "paper"], "plancraft.success_rate.strata"),
        (["--ranks", "plancraft.reward", "--format", "json"], '"plancraft.reward": 1.0'),
        (["--prompts"], "1-4"),
        (["--prompts", "--format", "markdown"], "| learn tokens |"),
        (["--prompts", "--format", "json"], '"acting_prompt_tokens"'),
    ],
)
def test_results_are_printed_in_every_form(
    root: Path, options: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("results", "demo", "--root", root, *options) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [["--ranks", "speed"], ["--ranks", ""], ["--ranks", "alfword.reward"], ["--prompts", "--strata"]],
)
def test_ranks_and_tables_that_there_are_not(
    root: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("results", "demo", "--root", root, *options) == 2
    assert capsys.readouterr().err.count("Traceback") == 0


def test_a_chain_of_several_sweeps_is_told_by_its_sweep(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for episode in fake_chain(KEY, 1, sweep="again", steps=3):
        ChainWriter(root, "again", CHAIN, KEY).commit(episode)
    write_manifest(root, "again", {"name": "again"}, [PlannedChain(CHAIN, KEY, 1)], {})
    assert ocm("show", CHAIN, 0, "--root", root) == 2
    assert "2 chains fit; add --sweep NAME (again, demo)" in capsys.readouterr().err
    assert ocm("show", CHAIN, 0, "--sweep", "again", "--root", root) == 0
