"""ExpeL's votes: every conflict is repaired, the list stays sorted, positive and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.expel.insights import (
    MAX_CHARS,
    TOO_MANY,
    Insight,
    Kind,
    Operation,
    edit,
    numbered,
    parse_operations,
    read,
    written,
)
from agents.parsing import UnreadableReply

LIST = (Insight("Open doors first.", 4), Insight("Look around.", 2), Insight("Heat food.", 1))


def op(line: str) -> tuple[Operation, ...]:
    return parse_operations(line, "stop", 5)


def after(*lines: str, max_rules: int = 10) -> list[tuple[str, int]]:
    changed = edit(LIST, op("\n".join(lines)), max_rules).insights
    return [(one.text, one.importance) for one in changed]


BEFORE = [(one.text, one.importance) for one in LIST]


@pytest.mark.parametrize(
    ("lines", "changed"),
    [
        (["AGREE 2: Look around."], [BEFORE[0], ("Look around.", 3), BEFORE[2]]),
        (["AGREE 1: Look around."], [BEFORE[0], ("Look around.", 3), BEFORE[2]]),  # text, not number
        (["AGREE 2: So: Look around. Yes."], [BEFORE[0], ("Look around.", 3), BEFORE[2]]),
        (["AGREE 2: Have a look."], [BEFORE[0], ("Look around.", 3), BEFORE[2]]),  # paraphrase: number
        (["AGREE: Have a look.", "AGREE 9: Have a look.", "AGREE 0: Have a look."], BEFORE),
        (["REMOVE 1: Open doors first."], [("Open doors first.", 3), *BEFORE[1:]]),
        (["REMOVE 3: Heat food."], BEFORE[:2]),  # importance 0
        (["REMOVE 3: Warm the food."], BEFORE[:2]),
        (["REMOVE 7: Warm the food."], BEFORE),
        (["EDIT 3: Heat eggs."], [*BEFORE[:2], ("Heat eggs.", 2)]),
        (["EDIT 4: Heat eggs.", "EDIT: Heat eggs."], BEFORE),
        (["EDIT 3: Look around."], [BEFORE[0], ("Look around.", 3), BEFORE[2]]),  # becomes AGREE
        (["ADD 4: Close doors."], [*BEFORE[:2], ("Close doors.", 2), BEFORE[2]]),
        (["ADD: Close doors.", "ADD 5: Close doors."], [*BEFORE[:2], ("Close doors.", 2), BEFORE[2]]),
        (["ADD 4: Often: Look around."], BEFORE),  # known
        (["EDIT 3: Heat eggs.", "REMOVE 3: Heat food."], [*BEFORE[:2], ("Heat eggs.", 1)]),  # order
        (["ADD 1: Close doors.", "EDIT 1: Open all doors."], [("Open all doors.", 5), BEFORE[1],
                                                              ("Close doors.", 2), BEFORE[2]]),
        (["AGREE 2: Look around."] * 3, [("Look around.", 5), BEFORE[0], BEFORE[2]]),  # sorted again
    ],
)  # fmt: skip
def test_operations(lines: list[str], changed: list[tuple[str, int]]) -> None:
    assert after(*lines) == changed


def test_a_removal_from_a_list_that_is_too_long_counts_three() -> None:
    full = tuple(Insight(f"Rule {letter}.", 4) for letter in "abcdef")
    removal = op("REMOVE 2: Rule b.")
    assert edit(full, removal, 1).insights[-1] == Insight("Rule b.", 1)
    assert edit(full, removal, 2).insights[-1] == Insight("Rule b.", 3)


def test_the_account_says_what_was_done_and_dropped() -> None:
    account = edit(
        LIST,
        op("ADD 4: Look around.\nAGREE 9: No.\nEDIT 3: Heat food. Now.\nADD: New.\nADD: New. Really."),
        10,
    ).account
    assert edit(LIST, op("REMOVE 2: Peer."), 10).account == ("REMOVE 2 (by its number): Peer.",)
    assert account == (
        "dropped, as it is known: ADD: Look around.",
        "dropped, as there is no such insight: AGREE 9: No.",
        "AGREE 3: Heat food.",
        "ADD: New.",
        "dropped, as it is known: ADD: New. Really.",
    )


@pytest.mark.parametrize(
    "line",
    [
        "ADD 3: Open it.",
        "**ADD 3:** Open it.",
        "- **ADD 3**: Open it.",
        "1. ADD 3: *Open it.*",
        "### ADD 3: Open it.",
        "> `ADD 3: Open it.`",
        "ADD 3: Rule 3: Open   it.",
        "<think>AGREE 1: no.</think>ADD 3: Open it.",
        "Here they are:\n\nADD 3: Open it.\n\nDone.",
        "ADD 3: Open it.\nADD 4: cut off before the",
        "ADD 3: Open it.\nADD 4:\nADD 5: .\nEDIT 1: AGREE 2: nested.",
    ],
)
def test_what_models_write_around_an_operation(line: str) -> None:
    assert op(line) == (Operation(Kind.ADD, 3, "Open it."),)


def test_the_first_few_operations_count() -> None:
    reply = "\n".join(f"ADD {number}: Rule {number} holds." for number in range(9))
    assert [one.number for one in parse_operations(reply, "stop", 4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("reply", ["NO CHANGES", "**NO CHANGES.**", "Nothing new, so:\nNO CHANGES"])
def test_no_changes_is_an_answer(reply: str) -> None:
    assert op(reply) == ()


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        ("", "stop"),
        ("I agree with all of them.", "stop"),
        ("ADD 3: Open it.", "length"),
        ("ADD 3: Open it.", "content_filter"),
        ('{"operations": []}', "stop"),
        ("ADD 1: no full stop", "stop"),
        (f"ADD 1: {'x' * MAX_CHARS}.", "stop"),
        ("```python\nimport os\n```", "stop"),
    ],
)
def test_other_replies_are_unreadable(reply: str, finish: str) -> None:
    with pytest.raises(UnreadableReply):
        parse_operations(reply, finish, 4)


TEXTS = st.sampled_from(["A.", "B.", "A. B.", "C is D.", "Look.", "D."])
OPERATIONS = st.builds(Operation, st.sampled_from(Kind), st.none() | st.integers(-1, 9), TEXTS)
LISTS = st.lists(st.builds(Insight, TEXTS, st.integers(1, 5)), max_size=7).map(
    lambda given: sorted(given, key=lambda one: -one.importance)
)


@given(LISTS, st.lists(OPERATIONS, max_size=6), st.integers(1, 4))
def test_any_votes(insights: list[Insight], operations: list[Operation], max_rules: int) -> None:
    edited = edit(insights, operations, max_rules)
    weights = [one.importance for one in edited.insights]
    assert all(weight > 0 for weight in weights) and weights == sorted(weights, reverse=True)
    assert len(weights) <= max_rules + TOO_MANY and len(edited.account) == len(operations)
    assert edit(insights, operations, max_rules) == edited
    assert read(written(edited.insights)) == edited.insights
    assert len(numbered(edited.insights).splitlines()) == len(weights)


@given(st.text(), st.integers(1, 4))
def test_any_reply(reply: str, most: int) -> None:
    try:
        found = parse_operations(f"ADD 1: {reply}.\n{reply}", "stop", most)
    except UnreadableReply:
        return
    edited = edit((), found, 10)
    assert len(found) <= most and read(written(edited.insights)) == edited.insights
