"""Bad input from the command line: one clear error, the right exit code, no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import SMALL, Ended, ocm, write_spec

GOOD = SMALL.format(limit=1)


def failed(ended: Ended, code: int, *expected: str) -> None:
    assert ended.code == code, (ended.code, ended.err)
    assert "Traceback" not in ended.err
    for text in expected:
        assert text in ended.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace('"react"', '"reactt"'), ["methods[1].name: 'reactt'", "did you mean react"]),
        (GOOD.replace("[0, 1]", '["one"]'), ["seeds[0]: 'one'", "valid integer"]),
        ("name: not toml", ["not valid TOML"]),
        (GOOD.replace("val.small", "val.tiny"), ["environments[0].task_set", "val.small"]),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_wrong_spec(command: str, text: str, expected: list[str], tmp_path: Path) -> None:
    ended = ocm(command, write_spec(tmp_path, text))
    failed(ended, 2, "error: ", *expected)
    assert len(ended.err.splitlines()) <= 2
    assert not (tmp_path / "runs").exists()


def test_a_missing_key_stops_a_run_and_not_an_estimate(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, GOOD.replace('["scripted"]', '["gpt-4.1-mini"]'))
    failed(ocm("run", spec), 2, "error: ", "OPENAI_API_KEY", "is not set")
    planned = ocm("plan", spec)
    assert planned.code == 0 and "cost $" in planned.out
    assert "Before it can be run: backbones[0].api_key_env" in planned.err


def test_a_missing_spec(tmp_path: Path) -> None:
    failed(ocm("run", tmp_path / "absent.toml"), 2, "absent.toml", "No such file")


def test_an_unreachable_server(tmp_path: Path) -> None:
    backbone = (
        '[[backbones]]\nmodel = "m"\nbase_url = "http://127.0.0.1:9"\napi_key_env = ""\nmax_attempts = 1\n'
    )
    text = GOOD.replace('backbones = ["scripted"]\n', "") + backbone
    ended = ocm("run", write_spec(tmp_path, text), "--root", tmp_path / "runs", "--output", "quiet")
    failed(ended, 1, "http://127.0.0.1:9")


def test_a_storage_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ended = ocm("run", write_spec(tmp_path, GOOD), "--root", tmp_path / "file" / "runs")
    failed(ended, 1, "error: ", str(tmp_path / "file"))


def test_a_lake_of_a_newer_schema(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text(json.dumps({"schema": 99}))
    for arguments in (("run", write_spec(tmp_path, GOOD)), ("sql", "FROM episodes"), ("results", "small")):
        failed(ocm(*arguments, "--root", tmp_path), 1, "newer", "upgrade")


def test_names_that_fit_nothing(small_sweep: tuple[Path, Ended]) -> None:
    root, _ = small_sweep
    failed(ocm("show", "nobody", 0, "--root", root), 2, "no chain fits", "ocm-plancraft")
    failed(ocm("show", "react-plancraft-scripted-s0", 99, "--root", root), 1, "99")
    failed(ocm("show", "ocm", 0, "--root", root), 2, "chains fit")
    failed(ocm("sql", "SELECT nothing FROM nowhere", "--root", root), 2, "nowhere")
    failed(ocm("results", "other", "--root", root), 2, "other")
    failed(ocm("digest", "other", "--root", root), 2, "other")
    failed(ocm("tasks", "plancarft"), 2, "did you mean plancraft")
    failed(ocm("methods", "ocmm"), 2, "did you mean ocm")
