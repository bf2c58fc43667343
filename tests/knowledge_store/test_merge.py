"""Merging changes what the update names, and not one byte else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_store.errors import KnowledgeError, ParseError
from knowledge_store.merge import merge
from knowledge_store.outline import outline
from tests.knowledge_store.sources import NAMES, SHAPES, modules, statements, updates


@settings(max_examples=200)
@given(modules(), updates(), st.lists(st.sampled_from(NAMES), max_size=2))
def test_merging_twice_is_merging_once(objects: str, update: str, delete: list[str]) -> None:
    once = merge(objects, update, delete)
    assert merge(once.text, update, delete).text == once.text


@settings(max_examples=200)
@given(modules(), updates(), st.lists(st.sampled_from(NAMES), max_size=2))
def test_other_units_keep_every_byte(objects: str, update: str, delete: list[str]) -> None:
    merged = merge(objects, update, delete)
    touched = {*merged.replaced, *merged.deleted}
    before = outline(objects)
    position = 0
    for unit in before.units:
        if not touched & set(unit.names):
            found = merged.text.find(before.text(unit), position)
            assert found >= position
            position = found + len(before.text(unit))


@given(modules(), statements(SHAPES))
def test_only_the_replaced_stretch_differs(objects: str, definition: str) -> None:
    """Whatever stands before and after a replaced definition is there byte for byte."""
    (unit,) = outline(definition).units
    holders = [held for held in outline(objects).units if unit.names[0] in held.names]
    if len(holders) != 1 or holders[0].kind != "definition" or holders[0].names != unit.names:
        return
    (holder,) = holders
    text = merge(objects, definition).text
    assert text.startswith(objects[: holder.start])
    assert text.endswith(objects[holder.end :])


@given(modules(), st.lists(statements(SHAPES), min_size=1, max_size=3))
def test_deleting_what_was_appended_restores_the_bytes(objects: str, definitions: list[str]) -> None:
    if not objects.endswith("\n") or not outline(objects).units:
        return
    update = "".join(definitions)
    merged = merge(objects, update)
    if merged.replaced:
        return
    assert merge(merged.text, "", merged.added).text == objects


@given(st.text(), st.text(), st.lists(st.text(), max_size=2))
def test_arbitrary_text_raises_typed_errors_only(objects: str, update: str, delete: list[str]) -> None:
    try:
        merge(objects, update, delete)
    except KnowledgeError as error:
        assert error.message


@given(modules())
def test_an_empty_update_changes_nothing(objects: str) -> None:
    assert merge(objects, "").text == objects


@given(updates())
def test_the_first_update_defines_what_it_says(update: str) -> None:
    merged = merge("", update)
    assert set(merged.added) == {name for unit in outline(merged.text).units for name in unit.names}


# --- examples ------------------------------------------------------------------------------------


def test_replace_in_place_and_append() -> None:
    merged = merge("A = 1\n\n# mid\n\nB = 2  # two\nC = 3\n", "B = 5\nclass D: ...\n")
    assert merged.text == "A = 1\n\n# mid\n\nB = 5\nC = 3\n\n\nclass D: ...\n"
    assert (merged.added, merged.replaced) == (("D",), ("B",))


def test_the_old_comment_stays_unless_the_update_has_its_own() -> None:
    objects = "# old\ndef f(): return 1\n"
    assert merge(objects, "def f(): return 2").text == "# old\ndef f(): return 2\n"
    assert merge(objects, "# new\ndef f(): return 2").text == "# new\ndef f(): return 2\n"


def test_overloads_are_replaced_as_one() -> None:
    objects = "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): return a\nX = 1\n"
    assert merge(objects, "def f(a, b): return b").text == "def f(a, b): return b\nX = 1\n"


def test_a_block_stays_and_the_new_definition_follows_it() -> None:
    objects = "if True:\n    A = 1\n    B = 2\nC = A\n"
    merged = merge(objects, "A = 7\n")
    assert merged.text == "if True:\n    A = 1\n    B = 2\nA = 7\nC = A\n"
    assert merged.replaced == ("A",)


def test_a_side_effect_on_the_same_line_is_kept() -> None:
    assert merge("print(1); x = 2\n", "x = 3").text == "print(1); x = 2\nx = 3\n"


def test_a_name_bound_twice_counts_as_its_last_binding() -> None:
    assert merge("x = 1\ny = x\nx = 2\n", "x = 3").text == "x = 1\ny = x\nx = 3\n"


def test_delete_removes_comment_and_reports_the_unknown() -> None:
    merged = merge("A = 1\n\n\n# about f\n@deco\ndef f():\n    pass\n\n\nB = 2\n", "", ["f", "nope"])
    assert merged.text == "A = 1\n\n\nB = 2\n"
    assert (merged.deleted, merged.unknown) == (("f",), ("nope",))


def test_a_block_is_deleted_only_with_all_its_names() -> None:
    objects = "A, B = 1, 2\nC = 3\n"
    kept = merge(objects, "", ["A"])
    assert kept.text == objects and "B" in kept.ignored[0].reason and kept.deleted == ()
    assert merge(objects, "", ["A", "B"]).text == "C = 3\n"


def test_a_name_both_defined_and_deleted_is_defined() -> None:
    merged = merge("A = 1\n", "A = 2", ["A"])
    assert merged.text == "A = 2\n" and merged.deleted == () and "defines it" in merged.ignored[0].reason


@pytest.mark.parametrize(
    ("objects", "update", "text"),
    [
        ('"""Doc."""\nX = 1\n', "import math", '"""Doc."""\n\nimport math\nX = 1\n'),
        ("# c\nX = 1\n", "import math", "import math\n\n\n# c\nX = 1\n"),
        ("import re\nX = 1\n", "import re\nimport math", "import re\nimport math\nX = 1\n"),
        ("from a import b\nX = 1\n", "from a import b, c", "from a import b\nfrom a import c\nX = 1\n"),
        ("import re\nX = 1\n", "from __future__ import annotations",
         "from __future__ import annotations\nimport re\nX = 1\n"),
        ('"""D."""\nfrom __future__ import division\nimport re\n', "from __future__ import annotations",
         '"""D."""\nfrom __future__ import division\nfrom __future__ import annotations\nimport re\n'),
        ("import os.path\nX = 1\n", "import os.walk", "import os.path\nimport os.walk\nX = 1\n"),
        ("from a import b\nX = 1\n", "from c import b", "from c import b\nX = 1\n"),
        ("try:\n    import re\nexcept ImportError:\n    re = None\n", "import re",
         "try:\n    import re\nexcept ImportError:\n    re = None\n"),
    ],
)  # fmt: skip
def test_imports(objects: str, update: str, text: str) -> None:
    assert merge(objects, update).text == text


def test_an_import_counts_when_what_would_override_it_is_ignored() -> None:
    merged = merge("A = 1\n", "from math import pi\nprint(1); pi = 2\n")
    assert merged.text == "from math import pi\n\n\nA = 1\n" and merged.added == ("pi",)


def test_of_overlapping_bindings_the_last_counts() -> None:
    merged = merge("X = 1\n", "a, b = 1, 2\nb, c = 3, 4\nc = 5\n")
    assert merged.text == "X = 1\n\n\na, b = 1, 2\n\n\nc = 5\n"
    assert [ignored.what for ignored in merged.ignored] == ["b, c = 3, 4"]


def test_line_ends_follow_objects() -> None:
    assert merge("A = 1\r\n", "B = '''x\ny'''\n").text == "A = 1\r\n\r\n\r\nB = '''x\r\ny'''\r\n"


def test_what_is_no_definition_is_reported() -> None:
    update = "print(1)\nfor i in []: pass\nfrom x import *\nfrom objects import A\nA.b = 1\nassert A\nB = 1\n"
    merged = merge("A = 1\n", update)
    assert merged.added == ("B",)
    assert [ignored.line for ignored in merged.ignored] == [1, 2, 3, 4, 5, 6]
    assert all(ignored.reason for ignored in merged.ignored)


def test_the_first_update_is_taken_whole_without_what_is_ignored() -> None:
    update = '"""What I know."""\n\nimport math\n\n# --- items ---\n\nclass A: ...\n\n\nA()\n'
    assert merge("", update).text == '"""What I know."""\n\nimport math\n\n# --- items ---\n\nclass A: ...\n'


def test_the_docstring_of_objects_stays() -> None:
    merged = merge('"""Old."""\nX = 1\n', '"""New."""\nX = 2\n')
    assert merged.text == '"""Old."""\nX = 2\n' and "docstring" in merged.ignored[0].reason


def test_either_side_that_does_not_parse_is_told() -> None:
    with pytest.raises(ParseError) as caught:
        merge("x = (", "y = 1")
    assert (caught.value.path, caught.value.line) == ("objects.py", 1)
    with pytest.raises(ParseError) as caught:
        merge("x = 1", "\ndef (")
    assert "update" in caught.value.path and caught.value.line == 2


@pytest.mark.parametrize(
    ("objects", "update", "text"),
    [
        (  # a new base class goes before the replaced class that needs it
            "# a\nclass A: ...\nB = A\n",
            "class A(Base): ...\n\n\nclass Base: ...\n",
            "class Base: ...\n\n\n# a\nclass A(Base): ...\nB = A\n",
        ),
        (  # also through another new one, and a default counts as much as a base
            "def f(x=1): ...\n",
            "A = B\nB = 2\ndef f(x=A): ...\n",
            "B = 2\n\n\nA = B\n\n\ndef f(x=A): ...\n",
        ),
        (  # new ones stand below what they need
            "X = 1\n",
            "class A(B): ...\nclass B: ...\n",
            "X = 1\n\n\nclass B: ...\n\n\nclass A(B): ...\n",
        ),
        (  # a replaced class moves below the base that it gets
            "# a\nclass A: ...\n\n\nclass B: ...\nX = 1\n",
            "class A(B): ...\n",
            "class B: ...\n\n\n# a\nclass A(B): ...\nX = 1\n",
        ),
        (  # unless something between needs it where it is
            "class A: ...\nclass C(A): ...\nclass B: ...\n",
            "class A(B): ...\n",
            "class A(B): ...\nclass C(A): ...\nclass B: ...\n",
        ),
        (  # bodies run later
            "def f(): ...\nX = 1\n",
            "def f():\n    return X + Y\nY = 2\n",
            "def f():\n    return X + Y\nX = 1\n\n\nY = 2\n",
        ),
        (  # lazy annotations are not evaluated
            "from __future__ import annotations\ndef f(): ...\nX = 1\n",
            "def f(x: X): ...\n",
            "from __future__ import annotations\ndef f(x: X): ...\nX = 1\n",
        ),
    ],
)
def test_order_at_import(objects: str, update: str, text: str) -> None:
    merged = merge(objects, update)
    assert merged.text == text
    assert merge(merged.text, update).text == text


LINKED = (
    "class {n}({m}): ...\n",
    "{n} = {m}\n",
    "def {n}(a={m}): ...\n",
    "# c\nclass {n}: ...\n",
    "{n} = 1\n",
)
LETTERS = st.sampled_from("ABCDE")


@st.composite
def linked(draw: st.DrawFn, least: int = 0) -> str:
    """Definitions that need each other at import."""
    shapes = st.builds(lambda shape, n, m: shape.format(n=n, m=m), st.sampled_from(LINKED), LETTERS, LETTERS)
    gaps = st.sampled_from(["", "\n", "\n\n", "\n# loose\n\n"])
    return "".join(
        gap + shape for gap, shape in draw(st.lists(st.tuples(gaps, shapes), min_size=least, max_size=6))
    )


@settings(max_examples=200)
@given(linked(), linked(1))
def test_moving_is_settled_after_one_merge(objects: str, update: str) -> None:
    once = merge(objects, update)
    assert merge(once.text, update).text == once.text
