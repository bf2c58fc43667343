"""The replay buffer: whole episodes, since what was seen before an action decides what follows it.

A belief is rebuilt by replaying an episode's exchanges from its first observation. So episodes are kept
whole, one file each, and evicted whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from agents.acting import malformed_observation
from ocm.types import EndReason, Exchange, Files, Observation, Trajectory, Validity

FOLDER = "transitions/"
ACTION_CHARS = 300
EPISODE_CHARS = 90_000
"""Characters of an episode's observations: with actions and program they have to fit into the sandbox."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One action that was sent, and everything that came of it."""

    action: str
    observation: str
    valid: bool
    reward: float
    """What this step added to the episode's reward."""
    done: bool | None
    """Whether the action ended the task; None where the steps were used up with it, which hides that."""


@dataclass(frozen=True, slots=True)
class Played:
    """One episode: o0 and the outcomes of its actions."""

    number: int
    goal: str
    first: str
    steps: tuple[Outcome, ...]

    def before(self, step: int) -> str:
        """The observation before the step of this 0-based index."""
        return self.steps[step - 1].observation if step else self.first


class Key(NamedTuple):
    """One transition: the episode's number and the step's 0-based index."""

    episode: int
    step: int


# --- from an episode ---------------------------------------------------------------------------


def finished(trajectory: Trajectory, number: int, chars: int) -> Played:
    """A finished episode. Replies without an action never reached the environment and are left out.

    Args:
        trajectory: what was played.
        number: the episode's.
        chars: characters of an observation, fewer in an episode of many steps.
    """
    chars = room(len(trajectory.steps), chars)
    gained = zip((0.0, *(step.reward for step in trajectory.steps)), trajectory.steps, strict=False)
    last = len(trajectory.steps)
    ended = None if trajectory.end is EndReason.STEP_LIMIT else True
    steps = tuple(
        Outcome(
            cut(step.action, ACTION_CHARS),
            cut(step.observation, chars),
            step.validity is Validity.VALID,
            step.reward - before,
            ended if index == last else False,
        )
        for index, (before, step) in enumerate(gained, start=1)
        if step.observation != malformed_observation()
    )
    return Played(number, cut(trajectory.goal, chars), cut(trajectory.first_observation, chars), steps)


def so_far(
    first: Observation, exchanges: Sequence[Exchange], chars: int
) -> tuple[str, str, list[tuple[str, str]]]:
    """Goal, o0 and exchanges of an episode that is under way, cut as :func:`finished` cuts them."""
    taken = [
        (cut(one.action, ACTION_CHARS), cut(one.observation, chars))
        for one in exchanges
        if one.observation != malformed_observation()
    ]
    return cut(first.goal, chars), cut(first.text, chars), taken


def room(steps: int, chars: int) -> int:
    """Characters for each observation of an episode of so many steps, at most ``chars``."""
    return min(chars, EPISODE_CHARS // max(1, steps))


def cut(text: str, chars: int) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return text[:chars].encode("utf-8", "replace").decode("utf-8")


# --- as files ----------------------------------------------------------------------------------


def read(memory: Files) -> list[Played]:
    """The kept episodes, the oldest first."""
    paths = sorted(path for path in memory if path.startswith(FOLDER))
    return [_read(memory[path]) for path in paths]


def _read(text: str) -> Played:
    value = json.loads(text)
    steps = tuple(Outcome(**step) for step in value["steps"])
    return Played(value["number"], value["goal"], value["first"], steps)


def written(episodes: Iterable[Played]) -> dict[str, str]:
    """One file for each episode."""
    return {
        f"{FOLDER}{played.number:05}.json": json.dumps(asdict(played), indent=1, ensure_ascii=False) + "\n"
        for played in episodes
    }


def bounded(episodes: Sequence[Played], cap: int) -> list[Played]:
    """The newest episodes that have at most ``cap`` transitions together; the newest one at least."""
    kept: list[Played] = []
    total = 0
    for played in reversed(episodes):
        total += len(played.steps)
        if kept and total > cap:
            break
        kept.append(played)
    return kept[::-1]


# --- what programs are scored on ---------------------------------------------------------------


def sample(episodes: Sequence[Played], wrong: frozenset[Key], cap: int) -> tuple[Key, ...]:
    """At most ``cap`` transitions in order: those that went wrong, then recent ones.

    Of equal (action, observation) pairs only one counts: a wrong one, else the last.
    """
    steps = {
        Key(played.number, index): step for played in episodes for index, step in enumerate(played.steps)
    }
    ranked = sorted(steps, key=lambda key: (key in wrong, key), reverse=True)
    distinct: dict[tuple[str, str], Key] = {}
    for key in ranked:
        distinct.setdefault((steps[key].action, steps[key].observation), key)
    return tuple(sorted(list(distinct.values())[:cap]))
