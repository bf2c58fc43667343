"""What was done and what came of it: the transitions that experts are made from and weighed on.

An episode is one file, written once. The state before an action is found in the steps before it, so
nothing is stored twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from agents.acting import malformed_observation
from ocm.types import Exchange, Files, Observation, Trajectory, Validity

FOLDER = "transitions/"
REMEMBERED = 3
"""Observations before an action among which the newest with objects in it is its state."""
TEXT_CHARS = 2_500
ACTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """One action that was sent, and its outcome."""

    action: str
    observation: str
    success: bool
    """Whether the environment carried it out."""
    reward: bool
    """Whether the episode's reward rose."""


@dataclass(frozen=True, slots=True)
class Played:
    """One episode. ``number`` counts the episodes ever kept, from 1."""

    number: int
    goal: str
    first: str
    steps: tuple[Taken, ...]


class Case(NamedTuple):
    """One transition, or an action that is only thought of: then the last three fields are None."""

    goal: str
    before: tuple[str, ...]
    """The last observations, the newest first."""
    action: str
    after: str | None = None
    success: bool | None = None
    reward: bool | None = None

    @property
    def verb(self) -> str:
        words = self.action.split()
        return words[0].strip(":,.[]()").lower() if words else ""


def cases(played: Played) -> list[Case]:
    """The transitions of an episode."""
    texts = [played.first, *(taken.observation for taken in played.steps)]
    return [
        Case(played.goal, _newest(texts[: index + 1]), one.action, one.observation, one.success, one.reward)
        for index, one in enumerate(played.steps)
    ]


def imagined(first: Observation, exchanges: Sequence[Exchange], actions: Sequence[str]) -> list[Case]:
    """Actions that may be sent next, cut as :func:`finished` cuts them."""
    texts = [first.text, *(one.observation for one in exchanges[-REMEMBERED:])]
    seen = [_cut(text) for text in texts if text != malformed_observation()]
    return [Case(_cut(first.goal), _newest(seen), _cut(action, ACTION_CHARS)) for action in actions]


def _newest(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(reversed(texts[-REMEMBERED:]))


def finished(trajectory: Trajectory, number: int) -> Played:
    """An episode with its outcomes. A reply without an action reached no environment: it is left out."""
    before = (0.0, *(step.reward for step in trajectory.steps))
    steps = tuple(
        Taken(
            _cut(step.action, ACTION_CHARS),
            _cut(step.observation),
            step.validity is Validity.VALID,
            step.reward > reward,
        )
        for step, reward in zip(trajectory.steps, before, strict=False)
        if step.observation != malformed_observation()
    )
    return Played(number, _cut(trajectory.goal), _cut(trajectory.first_observation), steps)


def _cut(text: str, limit: int = TEXT_CHARS) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


# --- as files ----------------------------------------------------------------------------------


def read(memory: Files) -> list[Played]:
    """The kept episodes, the oldest first."""
    return list(_read(memory))


def _read(memory: Files) -> Iterator[Played]:
    for path in sorted(path for path in memory if path.startswith(FOLDER)):
        value = json.loads(memory[path])
        steps = tuple(Taken(**step) for step in value["steps"])
        yield Played(value["number"], value["goal"], value["first"], steps)


def written(episodes: Sequence[Played]) -> dict[str, str]:
    """One file for each episode."""
    return {
        f"{FOLDER}{played.number:04}.json": json.dumps(asdict(played), indent=1, ensure_ascii=False) + "\n"
        for played in episodes
    }


def bounded(episodes: Sequence[Played], most: int) -> list[Played]:
    """The newest episodes with together at most so many transitions, and always the last one."""
    kept: list[Played] = []
    room = most
    for played in reversed(episodes):
        room -= len(played.steps)
        if kept and room < 0:
            break
        kept.append(played)
    return kept[::-1]
