"""Arguments that fit nothing: one clear error, the right exit code, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import main
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id
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
