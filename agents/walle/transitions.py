"""What was done and what came of it: the transitions that rules are mined from and tested on.

An episode is one file. A transition is a step of it whose outcome is still kept: the state before an
action is rebuilt from the steps before it, so nothing is stored twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from agents.acting import malformed_observation
from agents.buffer import ACTION_CHARS, cut
from ocm.types import Exchange, Files, Observation, Trajectory, Validity

FOLDER = "transitions/"
RECENT = 5
"""Steps before an action that a rule sees with their observations."""
TEXT_CHARS = 1_200
"""Characters kept of an observation or a goal: PlanCraft's longest inventories have fewer."""


class Key(NamedTuple):
    """One transition: the episode's number and the step's 0-based index."""

    episode: int
    step: int


@dataclass(frozen=True, slots=True)
class Taken:
    """One step."""

    action: str
    observation: str
    success: bool | None = None
    """Whether the environment carried it out; None where that is not kept: no transition."""
    foreseen: bool | None = None
    """What the world model said of ``success``; None where it was not asked."""


@dataclass(frozen=True, slots=True)
class Played:
    """The steps of one episode."""

    number: int
    goal: str
    first: str
    steps: tuple[Taken, ...]

    def transitions(self) -> Iterator[Key]:
        """Its transitions."""
        return (
            Key(self.number, index) for index, taken in enumerate(self.steps) if taken.success is not None
        )

    def before(self, step: int) -> str:
        """The observation before the step of this index."""
        return self.steps[step - 1].observation if step else self.first


def action_text(action: str) -> str:
    """An action as rules see it and as it is kept."""
    return cut(action, ACTION_CHARS)


# --- from an episode ---------------------------------------------------------------------------


def so_far(first: Observation, exchanges: Sequence[Exchange]) -> Played:
    """An episode that is under way, without outcomes, cut as :func:`finished` cuts it.

    Less the observations that no rule sees any more, so that a long episode fits into the sandbox.
    """
    unseen = len(exchanges) - RECENT
    steps = [
        Taken(action_text(one.action), _cut(one.observation) if number >= unseen else "")
        for number, one in enumerate(exchanges)
    ]
    return Played(0, _cut(first.goal), _cut(first.text), tuple(steps))


def finished(trajectory: Trajectory, number: int) -> Played:
    """An episode with its outcomes. A reply without an action is a step, but no transition."""
    steps = [
        Taken(
            action_text(step.action),
            _cut(step.observation),
            None if step.observation == malformed_observation() else step.validity is Validity.VALID,
        )
        for step in trajectory.steps
    ]
    return Played(number, _cut(trajectory.goal), _cut(trajectory.first_observation), tuple(steps))


def _cut(text: str) -> str:
    return cut(text, TEXT_CHARS)


# --- as files ----------------------------------------------------------------------------------


def read(memory: Files) -> list[Played]:
    """The kept episodes, the oldest first."""
    paths = sorted(path for path in memory if path.startswith(FOLDER))
    return [_read(json.loads(memory[path])) for path in paths]


def _read(value: dict[str, Any]) -> Played:
    steps = tuple(Taken(**step) for step in value["steps"])
    return Played(value["number"], value["goal"], value["first"], steps)


def written(episodes: Sequence[Played]) -> dict[str, str]:
    """One file for each episode."""
    return {f"{FOLDER}{played.number:05}.json": _written(played) for played in episodes}


def _written(played: Played) -> str:
    steps = [
        {
            "action": taken.action,
            "observation": taken.observation,
            "success": taken.success,
            "foreseen": taken.foreseen,
        }
        for taken in played.steps
    ]
    value = {"number": played.number, "goal": played.goal, "first": played.first, "steps": steps}
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


# --- the bound ---------------------------------------------------------------------------------


def bounded(episodes: Sequence[Played], cap: int) -> list[Played]:
    """The episodes with at most ``cap`` transitions: the oldest successes go first, then failures."""
    outcomes = {
        key: played.steps[key.step].success is True for played in episodes for key in played.transitions()
    }
    surplus = max(0, len(outcomes) - cap)
    gone = set(sorted(outcomes, key=lambda key: (not outcomes[key], key))[:surplus])
    kept = [without(played, gone) if surplus else played for played in episodes]
    return [played for played in kept if played.steps]


def without(played: Played, gone: set[Key]) -> Played:
    """The episode less some transitions, and less the texts that no rule sees any more.

    What rules see of the other transitions stays as it was.
    """
    kept = {key.step for key in played.transitions() if key not in gone}
    shown = kept | {step - back for step in kept for back in range(1, RECENT + 1)}
    steps = tuple(
        Taken(
            taken.action,
            taken.observation if index in shown else "",
            taken.success if index in kept else None,
            taken.foreseen if index in kept else None,
        )
        for index, taken in enumerate(played.steps[: max(kept, default=-1) + 1])
    )
    return replace(played, first=played.first if 0 in kept else "", steps=steps)
