"""Workflows as text: what models write is read, and what is written is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.awm.workflows import MAX_CHARS, MAX_STEPS, Workflow, in_order_of, merged, newest, read, written

PLAIN = Workflow(
    "craft {thing}",
    "a {thing} is needed",
    (
        "{part} in [{slot}] -> the grid takes it -> move: from [{slot}] to [A1] with quantity 1",
        "done -> stop",
    ),
)
WORD = st.text("abcxyz{}[]", min_size=1, max_size=6)
PART = st.lists(WORD, min_size=1, max_size=2).map(" ".join)
NAME = st.builds("{} {}".format, st.sampled_from(["open", "take", "Look at", "make"]), WORD)
STEP = st.lists(PART, min_size=2, max_size=4).map(" -> ".join)
WORKFLOW = st.builds(
    Workflow, NAME, st.one_of(st.just(""), PART), st.lists(STEP, min_size=1, max_size=4).map(tuple)
)
MARKS = st.sampled_from(
    [
        "#",
        "## ",
        "when:",
        "- ",
        "1. ",
        "->",
        "→",
        "`",
        "**",
        "\n",
        "Workflow 1:",
        "Action:",
        "x",
        "Y y",
        "```",
        "\r",
        " ",
    ]
)


def named(name: str, *steps: str) -> Workflow:
    return Workflow(name, "", steps or ("a -> b", "c -> d"))


@given(st.lists(WORKFLOW, max_size=3, unique_by=lambda one: one.key))
def test_what_is_written_is_read_again(workflows: list[Workflow]) -> None:
    assert read(written(workflows)) == workflows


@given(st.one_of(st.text(), st.lists(MARKS, max_size=60).map("".join)), st.integers(1, 3))
def test_whatever_is_read_stays_as_it_is_when_it_is_written_and_read(text: str, min_steps: int) -> None:
    found = read(text, min_steps)
    assert read(written(found), min_steps) == found
    assert all(min_steps <= len(one.steps) <= MAX_STEPS and len(one.text) <= MAX_CHARS for one in found)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.text,
        f"Here they are:\n\n{PLAIN.text}\nI hope that this helps.",
        f"```markdown\n{PLAIN.text}```",
        "### **Workflow 1: craft {thing}**\n- **When to use:** a {thing} is needed\n\n"
        "1) {part} in [{slot}] → the grid takes it → `move: from [{slot}] to [A1] with quantity 1`\n"
        "2) done => Action: stop\n",
        "# Workflows\n## craft {thing} ##\r\nwhen: a {thing} is needed\r\n"
        "- {part} in [{slot}]\r\n   -> the grid takes it\r\n"
        "   -> move: from [{slot}] to [A1] with quantity 1\r\n"
        "- observation: done -> action: stop",
    ],
)
def test_a_workflow_is_read_however_a_model_writes_it(text: str) -> None:
    assert read(text, 2) == [PLAIN]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It was easy.",
        "## only one step\n1. a -> b -> c",
        "## prose\nFirst look around, then act.",
        "## no action\n1. a -> b ->\n2. just look",
        "## ???\n1. a -> b\n2. c -> d",
        "1. a -> b\n2. c -> d",
        named("endless", *["a -> b"] * (MAX_STEPS + 1)).text,
        named("long", "a -> b", f"a -> {'b' * MAX_CHARS}").text,
    ],
)
def test_what_is_no_routine_is_dropped(text: str) -> None:
    assert read(text, 2) == []


def test_a_name_that_is_there_already_keeps_its_place() -> None:
    old = [named("Open {door}"), named("take it")]
    better = named("open_door", "a -> b", "e -> f")
    assert merged(old, [named("new"), better]) == [better, old[1], named("new")]


def test_a_diff_of_merged_workflows_shows_only_what_changed() -> None:
    old = [named("one"), named("two"), named("three")]
    assert in_order_of(old, [named("all"), named("three"), named("one")]) == [
        named("one"),
        named("three"),
        named("all"),
    ]


@given(st.lists(st.integers(1, 60), max_size=8), st.integers(0, 8), st.integers(0, 300))
def test_the_oldest_go_until_the_rest_fits(lengths: list[int], most: int, chars: int) -> None:
    workflows = [named("any", f"a -> {'b' * length}") for length in lengths]
    kept = newest(workflows, most, chars)
    assert kept == workflows[len(workflows) - len(kept) :]
    assert len(kept) <= most and len(written(kept)) <= chars
    one_more = workflows[len(workflows) - len(kept) - 1 :]
    assert kept == workflows or len(one_more) > most or len(written(one_more)) > chars


def test_a_block_that_is_far_too_long_is_dropped_at_once() -> None:
    endless = "## endless\n1. a -> b\n" + " more\n" * 200_000
    assert [one.name for one in read(f"{endless}## good\n1. a -> b\n")] == ["good"]
