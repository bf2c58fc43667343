"""Inspect: the source behind a name, however it is written; else the closest names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.inspection import resolve

OBJECTS = """\
import re

# A log.
@dataclass
class OakLog:
    # How many.
    count: int = 1
    a = 1; b = 2

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        pass


def craft(x):
    return x


if re:
    LIMIT = 1
"""
FILES = {"objects.py": OBJECTS, "procedures/make_planks.py": "from objects import craft\n", "notes.md": "hi"}


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("OakLog", "OakLog"),
        (" `OakLog` ", "OakLog"),
        ("'OakLog'", "OakLog"),
        ("OakLog()", "OakLog"),
        ("craft(grid, 1)", "craft"),
        ("objects.OakLog", "OakLog"),
        ("objects.py:OakLog", "OakLog"),
        ("OakLog.count", "OakLog.count"),
        ("objects.OakLog.size()", "OakLog.size"),
        ("LIMIT", "LIMIT"),
        ("objects.py", "objects.py"),
        ("objects", "objects.py"),
        ("procedures/make_planks.py", "procedures/make_planks.py"),
        ("procedures/make_planks", "procedures/make_planks.py"),
        ("make_planks.py", "procedures/make_planks.py"),
        ("make_planks", "procedures/make_planks.py"),
        ("procedures.make_planks", "procedures/make_planks.py"),
        ("notes.md", "notes.md"),
    ],
)
def test_names_are_understood(asked: str, name: str) -> None:
    resolved = resolve(FILES, [asked, asked])
    assert resolved.found == (name,) and resolved.missing == ()
    assert resolved.text.startswith(f"### {name}\n```") and resolved.text.count("###") == 1


def test_source_comes_with_decorators_and_comments() -> None:
    text = resolve(FILES, ["OakLog"]).text
    assert "# A log.\n@dataclass\nclass OakLog:" in text and "def craft" not in text
    size = resolve(FILES, ["OakLog.size"]).text
    assert size.count("def size") == 2 and "@property" in size and "@size.setter" in size
    assert "# How many.\n    count: int = 1" in resolve(FILES, ["OakLog.count"]).text


def test_unknown_names_get_the_closest() -> None:
    resolved = resolve(FILES, ["OakLg", "make_plank", "Oaklog.siz", "zzzzzz"])
    assert resolved.missing == ("OakLg", "make_plank", "Oaklog.siz", "zzzzzz")
    lines = resolved.text.split("\n\n")
    assert "OakLog" in lines[0] and "procedures/make_planks.py" in lines[1] and "OakLog.size" in lines[2]
    assert "Names in memory: OakLog, craft, LIMIT" in lines[3]


def test_an_empty_memory_says_so() -> None:
    assert resolve({}, ["x"]).text == "The memory is empty: there is nothing to inspect."
    assert "No name was given" in resolve({}, []).text


def test_over_the_limit_is_cut_with_a_way_on() -> None:
    resolved = resolve(FILES, ["objects.py", "craft"], max_chars=60)
    assert resolved.found == ("objects.py", "craft")
    assert "is cut here" in resolved.text and "Ask for a part: OakLog, craft, LIMIT." in resolved.text
    assert "Not shown for want of room: craft." in resolved.text
    assert "Ask for a part: OakLog.count" in resolve(FILES, ["OakLog"], max_chars=60).text


def test_a_file_that_does_not_parse_can_be_seen_whole() -> None:
    files = {"objects.py": "class A(:\n"}
    assert "does not parse" in resolve(files, ["A"]).text
    assert "class A(:" in resolve(files, ["objects.py"]).text


def test_backticks_in_the_source_do_not_end_the_block() -> None:
    text = resolve({"objects.py": "x = '```'\n"}, ["x"]).text
    assert text == "### x\n````python\nx = '```'\n````"


@given(st.text(), st.text(), st.lists(st.text(), max_size=3), st.integers(0, 50))
def test_never_raises(objects: str, procedure: str, names: list[str], room: int) -> None:
    resolve({"objects.py": objects, "procedures/a.py": procedure}, names, room)
