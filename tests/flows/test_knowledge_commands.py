"""``ocm knowledge`` tells what was learned; records of episodes do not drown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.writer import ChainWriter
from knowledge_store.memory import size
from ocm.identity import chain_id, memory_hash
from ocm.types import Change, Delta, MemoryUpdate, UpdateOutcome
from tests.flows.test_command_line import ocm
from tests.lake.fake import apply, fake_episode, fake_key

KEY = fake_key("poeworld")
CHAIN = chain_id(KEY)
RECORD = "".join(f"line {number}\n" for number in range(30))


def play(root: Path, deltas: Sequence[Delta]) -> None:
    """A chain whose episodes change the memory in these ways."""
    writer = ChainWriter(root, "demo", CHAIN, KEY)
    memory: dict[str, str] = {}
    for index, delta in enumerate(deltas):
        after = apply(memory, delta)
        outcome = UpdateOutcome.COMMITTED if delta else UpdateOutcome.UNCHANGED
        writer.commit(
            replace(
                fake_episode(KEY, index, memory, steps=3),
                update=MemoryUpdate(outcome, delta, "{}", "", ()),
                memory_after=memory_hash(after),
                memory_bytes=size(after).bytes,
            )
        )
        memory = after
    write_manifest(root, "demo", {"name": "demo"}, [PlannedChain(CHAIN, KEY, len(deltas))], {})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    learned = (Change("weights.json", "{}\n"), Change("experts/smelt_00013.py", "def expert(): ...\n"))
    play(tmp_path, [(*learned, Change("transitions/00003.json", RECORD)), ()])
    return tmp_path


def test_a_diff_shows_what_was_learned_first_and_counts_lines_of_records(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("knowledge", "diff", CHAIN, -1, "--root", root) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "+def expert(): ..." in lines and "+{}" in lines
    assert lines[-1] == "transitions/00003.json  +30 lines"
    assert "+line 7" not in lines
    assert ocm("knowledge", "diff", CHAIN, -1, "--all", "--root", root) == 0
    assert "+line 7" in capsys.readouterr().out.splitlines()


def test_a_changed_record_counts_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(
        tmp_path,
        [
            (Change("transitions/1.json", RECORD), Change("experience/2.md", "-- kept\n")),
            (Change("transitions/1.json", RECORD + "more\nyet\n"), Change("experience/2.md", None)),
        ],
    )
    assert ocm("knowledge", "diff", CHAIN, 0, 1, "--root", tmp_path) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["experience/2.md  -1 lines", "transitions/1.json  +2 lines"]


def test_show_lists_records_by_size_unless_they_are_asked_for(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("knowledge", "show", CHAIN, "--root", root) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "=== experts/smelt_00013.py" in lines and "def expert(): ..." in lines
    assert lines[-1] == f"transitions/00003.json  {len(RECORD)} bytes"
    assert "line 7" not in lines
    for asked in ("--all", "transitions/00003.json"):
        assert ocm("knowledge", "show", CHAIN, asked, "--root", root) == 0
        assert "line 7" in capsys.readouterr().out.splitlines()


def test_an_empty_memory_and_no_change_are_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--signatures"], ["--all"]):
        assert ocm("knowledge", "show", CHAIN, "--episode", -1, *options, "--root", root) == 0
        assert capsys.readouterr().out == "The memory is empty.\n"
    assert ocm("knowledge", "diff", CHAIN, 0, 1, "--root", root) == 0
    assert capsys.readouterr().out == "Nothing changed.\n"


def test_signatures_are_refused_where_a_method_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experts = tuple(Change(f"experts/e{number}.py", "pass\n") for number in range(9))
    play(tmp_path, [(Change("weights.json", "{}\n"), *experts), (Change("objects.py", "LOG = 1\n"),)])
    shown = ("knowledge", "show", CHAIN, "--signatures", "--root", tmp_path)
    assert ocm(*shown, "--episode", 0) == 2
    told = "signatures are OCM's: poeworld keeps experts/ (9), weights.json; leave --signatures out"
    assert told in capsys.readouterr().err
    assert ocm(*shown) == 0
    assert "LOG" in capsys.readouterr().out


def test_the_log_tells_new_changed_and_deleted_files_and_gathers_many_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experts = [f"experts/e{number}.py" for number in range(9)]
    index = Change("weights.json", "{}\n")
    few = (Change("experts/new.py", "pass\n"), Change(experts[0], None), Change(experts[1], "x = 1\n"))
    again = (Change(experts[0], "pass\n"), *(Change(path, "x = 2\n") for path in experts[1:6]))
    play(tmp_path, [(index, *(Change(path, "pass\n") for path in experts)), few, again, ()])
    assert ocm("knowledge", "log", CHAIN, "--root", tmp_path) == 0
    told = [line.split("  ")[-1] for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "+weights.json, +experts/ (9)",
        "+experts/new.py, -experts/e0.py, ~experts/e1.py",
        "+experts/e0.py, ~experts/ (5)",
        "",
    ]


def test_a_file_is_found_by_its_name_alone_where_only_one_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = ("experts/smelt_00013.py", "rules/twin.py", "pool/twin.py")
    play(tmp_path, [tuple(Change(path, f"x = {path!r}\n") for path in paths)])
    for name in ("smelt_00013", "smelt_00013.py", "experts/smelt_00013"):
        assert ocm("knowledge", "show", CHAIN, name, "--root", tmp_path) == 0
        assert "x = 'experts/smelt_00013.py'" in capsys.readouterr().out
    assert ocm("knowledge", "show", CHAIN, "twin", "--root", tmp_path) == 2
    assert "2 files fit; name one of pool/twin.py, rules/twin.py" in capsys.readouterr().err
    assert ocm("knowledge", "show", CHAIN, "smelt", "--root", tmp_path) == 2
    assert "is not in memory. Names in memory: experts/smelt_00013.py" in capsys.readouterr().err
