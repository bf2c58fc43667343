"""The replay buffer of methods that model the world: whole episodes with the outcomes of their actions.

What was seen before an action decides what follows it, so episodes are kept whole, one file each, written
once, and evicted whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from agents.acting import malformed_observation
from agents.parsing import without_surrogates
from ocm.types import EndReason, Files, Trajectory, Validity

FOLDER = "transitions/"
ACTION_CHARS = 300


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
    """One episode: o0 and the outcomes of its actions. ``number`` counts the episodes ever kept, from 1."""

    number: int
    goal: str
    first: str
    steps: tuple[Outcome, ...]

    def before(self, step: int) -> str:
        """The observation before the step of this 0-based index."""
        return self.steps[step - 1].observation if step else self.first


def next_number(episodes: Sequence[Played]) -> int:
    """That of the next episode."""
    return episodes[-1].number + 1 if episodes else 1


def finished(trajectory: Trajectory, number: int, chars: int) -> Played:
    """A finished episode. Replies without an action never reached the environment and are left out.

    Args:
        trajectory: what was played.
        number: the episode's.
        chars: characters kept of a goal or an observation.
    """
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


def cut(text: str, chars: int) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return without_surrogates(text[:chars])


def verb_of(action: str) -> str:
    """The action's first word."""
    words = action.split()
    return words[0].strip(":,.[]()").lower() if words else ""


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
