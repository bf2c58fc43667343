"""A finished episode as text for a model that learns from it. Pure functions.

Observations are cut and, past a budget, the middle of the episode is left out, as ExpeL and
Reflexion do with long trajectories.
"""

from __future__ import annotations

from dataclasses import replace

from ocm.types import EndReason, Trajectory, Turn, TurnKind, Validity

OBSERVATION_CHARS = 2_000
ACTION_CHARS = 500
THOUGHT_CHARS = 300
TRAJECTORY_CHARS = 48_000

_OUTCOMES = {
    EndReason.SUCCESS: "Success",
    EndReason.FAILURE: "Failure: the environment ended the episode",
    EndReason.STEP_LIMIT: "Failure: all actions were used up",
}

_VALIDITY = {
    Validity.VALID: "valid",
    Validity.MALFORMED: "invalid: not in the action language",
    Validity.REFUSED: "invalid: refused",
    Validity.NO_EFFECT: "invalid: no effect",
}


def outcome(trajectory: Trajectory) -> str:
    """One line: how the episode ended, its reward, its actions."""
    return (
        f"{_OUTCOMES[trajectory.end]}. Reward {trajectory.reward:g} after {len(trajectory.steps)} actions, "
        f"{trajectory.invalid_actions} of them invalid."
    )


def render(trajectory: Trajectory, limit: int = TRAJECTORY_CHARS) -> str:
    """The trajectory as numbered entries, at most about ``limit`` characters."""
    entries = [f"[0] {_cut(trajectory.first_observation, OBSERVATION_CHARS)}"]
    thoughts = _thoughts(trajectory.turns)
    for number, step in enumerate(trajectory.steps, start=1):
        thought = f"thought: {thoughts[number]}\n    " if number in thoughts else ""
        entries.append(
            f"[{number}] {thought}action: {_line(step.action, ACTION_CHARS)}\n"
            f"    outcome: {_VALIDITY[step.validity]}\n{_cut(step.observation, OBSERVATION_CHARS)}"
        )
    return "\n".join(_without_middle(entries, limit))


def without_invalid_steps(trajectory: Trajectory) -> Trajectory:
    """What led forward: its valid steps, counted anew, and the turns that led to them."""
    kept = [
        number for number, step in enumerate(trajectory.steps, start=1) if step.validity is Validity.VALID
    ]
    place = {number: new for new, number in enumerate(kept, start=1)}
    return replace(
        trajectory,
        steps=tuple(trajectory.steps[number - 1] for number in kept),
        turns=tuple(replace(turn, step=place[turn.step]) for turn in trajectory.turns if turn.step in place),
    )


def _thoughts(turns: tuple[Turn, ...]) -> dict[int, str]:
    return {
        turn.step: _line(turn.thought, THOUGHT_CHARS)
        for turn in turns
        if turn.kind in (TurnKind.ACTION, TurnKind.PROGRAM) and turn.thought
    }


def _line(text: str, limit: int) -> str:
    return _cut(" ".join(text.split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _without_middle(entries: list[str], limit: int) -> list[str]:
    if sum(map(len, entries)) + len(entries) - 1 <= limit:
        return entries
    head, tail, used = 0, 0, 0
    while head + tail < len(entries):
        entry = entries[head] if head <= tail else entries[-1 - tail]
        if used + len(entry) > limit:
            break
        used += len(entry) + 1
        head, tail = (head + 1, tail) if head <= tail else (head, tail + 1)
    left_out = len(entries) - head - tail
    return [*entries[:head], f"… ({left_out} steps left out) …", *entries[len(entries) - tail :]]
