"""Memory as files: deltas fold as they apply, paths stay inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.errors import PathError
from knowledge_store.memory import Size, apply, check_path, diff, fold, procedures, size
from ocm.types import Change

PATHS = st.sampled_from(
    ["objects.py", "procedures/a.py", "procedures/b.py", "insights.json", "skills/x_1.py"]
)
MEMORIES = st.dictionaries(PATHS, st.text(st.characters(codec="utf-8"), max_size=5))
DELTAS = st.lists(
    st.builds(Change, PATHS, st.none() | st.text(st.characters(codec="utf-8"), max_size=5)), max_size=4
).map(tuple)


@given(st.lists(DELTAS, max_size=5))
def test_folding_is_applying_one_by_one(deltas: list[tuple[Change, ...]]) -> None:
    files: dict[str, str] = {}
    for delta in deltas:
        files = apply(files, delta)
    assert fold(deltas) == files


@given(MEMORIES, MEMORIES)
def test_diff_leads_from_one_to_the_other(before: dict[str, str], after: dict[str, str]) -> None:
    delta = diff(before, after)
    assert apply(before, delta) == after
    assert [change.path for change in delta] == sorted({change.path for change in delta})
    assert all(before.get(change.path) != change.content for change in delta)


@given(MEMORIES, DELTAS)
def test_apply_leaves_its_input_alone_and_sorts(files: dict[str, str], delta: tuple[Change, ...]) -> None:
    copy = dict(files)
    assert list(result := apply(files, delta)) == sorted(result)
    assert files == copy


@pytest.mark.parametrize(
    "path",
    ["", "/etc/x.py", "../x.py", "a/../x.py", "a//x.py", "./x.py", "a\\x.py", "c:x.py", "é.py", "x", "x.sh",
     "a.d/x.py", ".hidden.py", "a/.x.py", "x.py/", "x\n.py", "x.py\n", "x" * 300 + ".py", "-x.py", "x.py\0"],
)  # fmt: skip
def test_paths_that_no_memory_holds(path: str) -> None:
    with pytest.raises(PathError, match="use a relative path"):
        check_path(path)
    with pytest.raises(PathError):
        apply({}, (Change(path, "x"),))


@given(st.text())
def test_an_accepted_path_is_plain(path: str) -> None:
    try:
        check_path(path)
    except PathError:
        return
    assert path.isascii() and not path.startswith("/") and ".." not in path.split("/")


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(PathError, match="lone surrogate"):
        apply({}, (Change("objects.py", "x = '\ud800'"),))


def test_procedures_and_size() -> None:
    files = {
        "procedures/b.py": "x = 'é'\n",
        "objects.py": "import re\nclass A: ...\ndef f(): ...\n",
        "procedures/notes.md": "n",
        "procedures/a.py": "x = (",
    }
    assert list(procedures(files)) == ["procedures/a.py", "procedures/b.py"]
    assert size(files) == Size(files=4, bytes=51, lines=6, definitions=3)
