"""The outline's places are exact, and cutting the text changes nothing about how it parses."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.errors import ParseError
from knowledge_store.outline import outline
from knowledge_store.scopes import drop_bodies
from tests.knowledge_store.sources import modules


def _without_bodies(source: str) -> list[ast.stmt]:
    body = ast.parse(source).body
    drop_bodies(body)
    return body


@given(modules())
def test_pieces_parse_as_the_whole(source: str) -> None:
    found = [ast.dump(part.node) for unit in outline(source).units for part in unit.parts]
    assert found == [ast.dump(node) for node in _without_bodies(source)]


@given(modules())
def test_each_part_is_its_statement(source: str) -> None:
    for unit in outline(source).units:
        for part in unit.parts:
            (node,) = _without_bodies(source[part.start : part.end])
            assert ast.dump(node) == ast.dump(part.node)


@given(modules())
def test_units_do_not_overlap_and_nothing_but_trivia_is_between(source: str) -> None:
    position = 0
    for unit in outline(source).units:
        assert position <= unit.start <= unit.core < unit.end
        assert ast.parse(source[position : unit.start].strip(" \t\f\\\r\n")).body == []
        position = unit.end
    assert ast.parse(source[position:].strip()).body == []


@given(st.text())
def test_arbitrary_text_gives_an_outline_or_a_parse_error(source: str) -> None:
    try:
        outline(source)
    except ParseError as error:
        assert error.message


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000,
        "-" * 100_000 + "1",
        "x" + ".a" * 5000,
        "x\0",
        "x = '\ud800'",
        "1" * 5000,
        "\ufeffx=1",
        "x = (",
    ],
)
def test_hostile_source_is_a_parse_error(source: str) -> None:
    with pytest.raises(ParseError):
        outline(source)


def test_the_error_tells_line_and_reason() -> None:
    with pytest.raises(ParseError) as caught:
        outline("x = 1\n\ndef f(:\n")
    assert (caught.value.line, caught.value.path) == (3, "objects.py")
    assert "invalid syntax" in caught.value.reason


def test_attached_comments_and_indented_comments_belong_to_the_unit() -> None:
    head = "# head\n\n# loose\n\n"
    source = head + "# one\n# two\ndef f():\n    pass\n\n    # end of f\n# g's\ndef g(): pass  # tail\n"
    module = outline(source)
    assert [module.text(unit) for unit in module.units] == [
        "# one\n# two\ndef f():\n    pass\n\n    # end of f",
        "# g's\ndef g(): pass  # tail",
    ]


def test_registered_functions_stand_with_their_function() -> None:
    functions = [
        "@singledispatch\ndef f(x): ...",
        "@f.register\ndef _(x: int): ...",
        "@f.register(str)\ndef _(x): ...",
    ]
    source = "\n\n".join(functions)
    (unit,) = outline(source).units
    assert unit.names == ("f",) and len(unit.parts) == 3
