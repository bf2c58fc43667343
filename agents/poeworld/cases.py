"""Transitions as experts see them: an action with what was seen before it, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agents.acting import malformed_observation
from agents.buffer import ACTION_CHARS, Played, cut, verb_of
from ocm.types import Exchange, Observation

REMEMBERED = 3
"""Observations before an action among which the newest with objects in it is its state."""
TEXT_CHARS = 2_500
"""Characters kept of a goal or an observation."""


class Case(NamedTuple):
    """One transition, or an action that is only thought of: then the last three fields are None."""

    goal: str
    before: tuple[str, ...]
    """The last observations, the newest first."""
    action: str
    after: str | None = None
    success: bool | None = None
    """Whether the environment carried it out."""
    reward: bool | None = None
    """Whether the episode's reward rose."""

    @property
    def verb(self) -> str:
        return verb_of(self.action)


def cases_of(played: Played) -> list[Case]:
    """The transitions of an episode."""
    texts = [played.first, *(taken.observation for taken in played.steps)]
    return [
        Case(played.goal, _newest(texts[: index + 1]), one.action, one.observation, one.valid, one.reward > 0)
        for index, one in enumerate(played.steps)
    ]


def imagined(first: Observation, exchanges: Sequence[Exchange], actions: Sequence[str]) -> list[Case]:
    """Actions that may be sent next, cut as :func:`agents.buffer.finished` cuts them."""
    texts = [first.text, *(one.observation for one in exchanges[-REMEMBERED:])]
    seen = [cut(text, TEXT_CHARS) for text in texts if text != malformed_observation()]
    return [Case(cut(first.goal, TEXT_CHARS), _newest(seen), cut(action, ACTION_CHARS)) for action in actions]


def _newest(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(reversed(texts[-REMEMBERED:]))
