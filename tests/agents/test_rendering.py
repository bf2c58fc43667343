"""Finished episodes as text."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from agents.rendering import outcome, render
from ocm.types import EndReason, Step, Validity
from tests.agents.fakes import step, trajectory


def test_a_whole_episode() -> None:
    played = trajectory(
        step("open door", text="It is locked."),
        replace(step("fly"), validity=Validity.REFUSED, observation="No."),
        step("win", done=True, success=True),
    )
    assert render(played) == (
        "[0] inventory: oak_log [I1] quantity 1\n"
        "[1] thought: thought 1\n    action: open door\n    outcome: valid\nIt is locked.\n"
        "[2] thought: thought 2\n    action: fly\n    outcome: invalid: refused\nNo.\n"
        "[3] thought: thought 3\n    action: win\n    outcome: valid\nok"
    )
    assert outcome(played) == "Success. Reward 1 after 3 actions, 1 of them invalid."


def test_outcomes() -> None:
    played = trajectory(replace(step("go"), reward=0.25))
    assert (
        outcome(played)
        == "Failure: all actions were used up. Reward 0.25 after 1 actions, 0 of them invalid."
    )
    assert outcome(replace(played, end=EndReason.FAILURE)).startswith("Failure: the environment ended")


def test_a_malformed_step_is_one_line() -> None:
    bad = Step("first line\nAction second", "Format error", 0.0, False, False, Validity.MALFORMED)
    assert "action: first line Action second\n    outcome: invalid: not in" in render(trajectory(bad))


@example([0] * 6 + [536], 1_000)
@given(st.lists(st.integers(0, 9_000), min_size=1, max_size=40), st.integers(1_000, 20_000))
def test_the_budget_is_kept_and_the_ends_stay(lengths: list[int], limit: int) -> None:
    played = trajectory(*(step(f"act {n}", text="x" * length) for n, length in enumerate(lengths)))
    text = render(played, limit)
    assert len(text) <= limit + 100
    whole = render(played, 10**9)
    if len(whole) <= limit:
        assert text == whole
    else:
        assert "steps left out" in text
        assert text.startswith("[0] inventory")


def test_the_middle_goes_first() -> None:
    played = trajectory(*(step(f"act {n}", text="x" * 500) for n in range(1, 41)))
    text = render(played, 5_000)
    assert "act 1\n" in text and "act 40\n" in text and "act 20\n" not in text


def test_one_giant_action_does_not_hide_the_rest() -> None:
    text = render(trajectory(step("y" * 100_000), step("win", done=True, success=True)), 5_000)
    assert "action: win" in text and "yyy" in text
