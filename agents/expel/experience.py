"""The experience pool: past episodes as text, and which of them belong together. Pure functions.

``experience/index.json`` lists the episodes, oldest first; ``experience/0007.md`` is one of them, rendered.
Kept are all successes, and the failures that no success has been compared with so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from agents.parsing import without_surrogates
from agents.rendering import outcome, render
from agents.retrieval import most_similar
from ocm.types import Change, Files, Trajectory

FOLDER = "experience/"
INDEX = f"{FOLDER}index.json"


@dataclass(frozen=True, slots=True)
class Past:
    """One episode of the pool."""

    number: int
    goal: str
    outcome: str
    success: bool
    is_new: bool
    """Of a success: whether it has not been looked at together with others."""

    @property
    def path(self) -> str:
        return f"{FOLDER}{self.number:04}.md"


def read_pool(memory: Files) -> tuple[Past, ...]:
    """The episodes of the pool, oldest first."""
    return tuple(Past(**entry) for entry in json.loads(memory.get(INDEX, "[]")))


def record(trajectory: Trajectory, pool: Sequence[Past], limit: int) -> tuple[Past, str]:
    """A finished episode for the pool, and its text of at most about ``limit`` characters."""
    number = pool[-1].number + 1 if pool else 1
    past = Past(
        number,
        without_surrogates(trajectory.goal),
        outcome(trajectory),
        trajectory.success,
        trajectory.success,
    )
    return past, without_surrogates(render(trajectory, limit))


def counterpart(past: Past, pool: Sequence[Past], similarity: float) -> Past | None:
    """The most similar episode of the other outcome, if there is one that is similar enough."""
    others = [one for one in pool if one.success is not past.success]
    found = most_similar(past.goal, [one.goal for one in others], 1)
    return others[found[0].index] if found and found[0].score >= similarity else None


def unseen_successes(past: Past, pool: Sequence[Past], chunk: int) -> tuple[Past, ...]:
    """The last ``chunk`` successes that were not looked at together, this one included; or none."""
    unseen = [one for one in (*pool, past) if one.success and one.is_new]
    return tuple(unseen[-chunk:]) if len(unseen) >= chunk else ()


def similar_successes(goal: str, memory: Files, count: int) -> Iterator[Past]:
    """The successes of the tasks most like this one, best first."""
    successes = [one for one in read_pool(memory) if one.success]
    for found in most_similar(goal, [one.goal for one in successes], count):
        yield successes[found.index]


def changes(memory: Files, pool: Sequence[Past], new: Past, text: str) -> Iterator[Change]:
    """What leads from the pool in the memory to this one, in which ``new`` is the only new episode."""
    kept = {one.path for one in pool}
    for one in read_pool(memory):
        if one.path not in kept:
            yield Change(one.path, None)
    if new.path in kept:
        yield Change(new.path, text)
    index = "[\n" + ",\n".join(json.dumps(asdict(one)) for one in pool) + "\n]\n"
    if index != memory.get(INDEX, ""):
        yield Change(INDEX, index)
