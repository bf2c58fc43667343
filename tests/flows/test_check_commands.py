"""`ocm check` and `ocm repair` from the command line: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.cli import main
from flows.cli.check import SHOWN, printable
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)


@pytest.fixture
def at(tmp_path: Path) -> ChainPaths:
    writer = ChainWriter(tmp_path, "demo", CHAIN, KEY)
    for episode in fake_chain(KEY, 1, steps=1):
        writer.commit(episode)
    write_manifest(tmp_path, "demo", {"name": "demo"}, [PlannedChain(CHAIN, KEY, 2)], {})
    return writer.paths


def ocm(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(str(ended.value.code))


def test_clean_leftovers_and_damage(at: ChainPaths, capsys: pytest.CaptureFixture[str]) -> None:
    root = ("--root", str(at.root))
    assert ocm("check", "demo", *root) == 0
    assert "1 episode checked" in capsys.readouterr().out

    for number in range(SHOWN + 2):
        (at.commits / f".{number}.tmp").write_text("x")
    assert ocm("check", *root) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"demo/{CHAIN}"
    assert "  and 2 more: temporary file (all of them with --format json)" in said
    assert said[-1] == f"`ocm repair` mends {SHOWN + 2} of the findings."

    assert ocm("repair", *root, "--dry-run") == 0
    assert "to do: " in capsys.readouterr().out
    assert ocm("repair", *root) == 0
    assert f"{SHOWN + 2} mended, 0 left alone" in capsys.readouterr().out

    at.commit(0).write_text("")
    assert ocm("check", *root, "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["damaged"]
    assert report["findings"][0]["severity"] == "damage"
    assert ocm("check", *root, "--quick") == 1
    assert "restore" in capsys.readouterr().out.splitlines()[-1]
    assert ocm("repair", *root) == 1
    assert "cannot be mended" in capsys.readouterr().out


def test_a_wrong_root_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("check", "--root", str(tmp_path)) == 2
    assert "lake.json" in capsys.readouterr().err
    assert ocm("repair", "--root", str(tmp_path / "nowhere")) == 2
    assert ocm("repair", "--root", "s3://bucket/prefix?region=us-east-1") == 1
    assert "copy the lake to a folder" in capsys.readouterr().err


def test_a_file_name_cannot_disturb_the_terminal() -> None:
    assert printable("a\x1b[2Jb\nc\ud800é") == "a\\x1b[2Jb\\nc\\ud800é"


def test_a_status_of_no_lake_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for root in (tmp_path, tmp_path / "missing", "s3://bucket/runs"):
        assert ocm("status", "--root", str(root)) == 2
        assert "no sweeps there; give the storage root" in capsys.readouterr().err
