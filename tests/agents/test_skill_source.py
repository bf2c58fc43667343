"""Functions and calls as text: what models write is taken apart, or it is told why it cannot be used."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.asi.induction import read_proposal
from agents.parsing import UnreadableReply
from agents.skills.program import Call
from agents.skills.source import NoCall, functions, hygiene, one_function, read_call
from agents.voyager.writing import read_program
from knowledge_store.errors import ParseError
from tests.agents.fakes import reply

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
PIECES = st.lists(
    st.sampled_from(
        [
            "```python\n",
            "```\n",
            "def f(a):\n",
            "    act('x')\n",
            "f('x')\n",
            "f(",
            "\n",
            "NO SKILLS\n",
            "look\n",
            "import os\n",
            "\ud800",
            "<think>",
            "async def g(): 0\n",
            "@f\n",
            "    return (\n",
            "'''",
            "f(*a)\n",
        ]
    ),
    max_size=12,
).map("".join)


@given(st.lists(VALUES, max_size=3), st.dictionaries(st.sampled_from(["a", "bc"]), VALUES, max_size=2))
def test_a_call_comes_back_as_it_was_written(arguments: list[object], named: dict[str, object]) -> None:
    parts = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())]
    assert read_call(f"  go({', '.join(parts)}) ") == Call("go", tuple(arguments), named)


def test_a_number_that_cannot_be_written_down_is_no_literal_of_a_call() -> None:
    with pytest.raises(NoCall):
        read_call(f"go(0x{'f' * 5000})")


@given(st.text(max_size=40) | PIECES)
def test_any_text_is_a_call_or_none_or_told_why_not(text: str) -> None:
    for one in (text, f"f({text})"):
        try:
            call = read_call(one)
        except NoCall as problem:
            assert str(problem)
        else:
            assert call is None or call.name.isidentifier()


@given(PIECES)
def test_any_reply_is_a_proposal_and_a_program_or_told_why_not(text: str) -> None:
    try:
        proposal = read_proposal(reply(text))
        assert not proposal.skills or proposal.lines is not None
        assert all(one.name.isidentifier() for one in proposal.skills)
    except UnreadableReply as problem:
        assert str(problem)
    try:
        _, written = read_program(text)
        assert ast.parse(written.definitions) and hygiene(written.definitions) == ""
    except UnreadableReply as problem:
        assert str(problem)


def test_a_function_stands_alone_with_the_imports_of_its_block() -> None:
    code = "import re\nX = 1\n\n@f\ndef a(x, *, y=2):\n    '''Does.'''\n    act('x')\n\ndef b():\n    pass\n"
    first, second = functions(code)
    assert first.source == "import re\n\n\n@f\ndef a(x, *, y=2):\n    '''Does.'''\n    act('x')\n"
    assert (first.signature, first.docstring, first.lines, first.acts) == ("a(x, *, y=2)", "Does.", 1, 1)
    assert second.source == "import re\n\n\ndef b():\n    pass\n" and one_function(code, "b").name == "b"
    with pytest.raises(ParseError):
        functions("def a(:\n")


@pytest.mark.parametrize(
    ("body", "acts"),
    [
        ("act('x')", 1),
        ("[act(x) for x in 'ab']", 2),
        ("for x in 'ab':\n  for y in x:\n   act(y)", 4),
        ("acting()", 0),
    ],
)
def test_acts_are_counted_in_the_text(body: str, acts: int) -> None:
    (function,) = functions("def f():\n " + body.replace("\n", "\n "))
    assert function.acts == acts
