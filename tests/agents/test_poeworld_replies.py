"""Proposals and rows are read whatever they are: as what they say, or not at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parsing import UnreadableReply
from agents.poeworld import judging
from agents.poeworld.model import Unfit, checked, name_of
from agents.poeworld.proposing import chosen, read_proposals
from knowledge_store.memory import check_path
from tests.agents.fakes import reply

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ('{"thought": "t", "actions": ["a", "b"]}', ("a", "b")),
        ('Well.\n```json\n{"actions": ["Action: a", "`b`", "a", " "]}\n```', ("a", "b")),
        ('{"actions": ["a\\nb", {"c": 1}, "d"],}', ("a b", "d")),
        ('{"actions": ["1", "2", "3", "4", "5", "6"]}', ("1", "2", "3", "4", "5")),
        ("I look.\n\nAction: look", ("look",)),
        ('{"thought": "t", "action": "look"}', ("look",)),
    ],
)
def test_proposals_are_read_in_the_forms_that_models_write(text: str, actions: tuple[str, ...]) -> None:
    assert read_proposals(reply(text), 5).actions == actions


def test_proposals_are_text_and_of_some_length() -> None:
    """JSON may hold half of a surrogate pair, which an environment cannot be sent."""
    said = '{"thought": "a\\ud800' + "b" * 9_999 + '", "actions": ["go \\ud800' + "c" * 9_999 + '"]}'
    found = read_proposals(reply(said), 5)
    assert found.actions == ("go ?" + "c" * 296,) and found.thought == "a?" + "b" * 1_998


def test_proposals_that_were_cut_off_are_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="cut off"):
        read_proposals(reply('{"thought": "t", "actions": ["a", "b', "length"), 5)


@given(st.text(max_size=60) | JSON.map(lambda value: json.dumps({"actions": value})))
def test_any_reply_is_proposals_or_unreadable(text: str) -> None:
    try:
        found = read_proposals(reply(text), 5)
    except UnreadableReply:
        return
    assert 1 <= len(found.actions) <= 5 and all(found.actions)


@given(st.lists(st.floats(0, 2), min_size=1, max_size=5), st.floats(0, 1))
def test_the_first_close_to_the_best_is_chosen(values: list[float], margin: float) -> None:
    place = chosen(values, margin)
    assert values[place] >= max(values) - margin
    assert all(value < max(values) - margin for value in values[:place])


@given(JSON | st.text("srclx0123456789:;,!-", max_size=30))
def test_any_row_is_votes_of_known_experts_or_nothing(row: object) -> None:
    found, raised = judging._read(row, ["a_1", "b_2"])
    votes = [vote for _, several in (found or {}).values() for vote in several]
    assert {vote.expert for vote in votes} | set(raised) <= {"a_1", "b_2"}


@given(st.text(max_size=40), st.integers(1, 99_999))
def test_any_verb_makes_a_name_that_a_memory_can_hold(verb: str, number: int) -> None:
    assert check_path(f"experts/{name_of(verb, number)}.py")


DEFINED = "def expert(objs, action):\n    return None"


@given(st.text(max_size=40), st.booleans())
def test_any_code_is_an_expert_or_unfit(text: str, commented: bool) -> None:
    try:
        kept = checked(f"{DEFINED}\n{'# ' if commented else ''}{text}", "expert", 2, 1_000)
    except Unfit:
        return
    assert kept.startswith(DEFINED) and kept.endswith("\n") and kept.encode()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("", "no function `expert`"),
        ("def expert(objs):\n    return None", "2 argument"),
        ("class A:\n    def expert(self, objs):\n        return None", "no function `expert`"),
        (f"{DEFINED}\n{'#' * 1_000}", "1000 are the most"),
        (f"{DEFINED}\n'\ud800'", "surrogates"),
    ],
)
def test_unfit_code_is_told_why(code: str, problem: str) -> None:
    with pytest.raises(Unfit, match=problem):
        checked(code, "expert", 2, 1_000)
