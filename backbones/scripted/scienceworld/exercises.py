"""Procedures that exercise what an episode showed: ways, finds, what worked, mixtures, temperatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from backbones.scripted.scienceworld.facts import CLAIMS, POWER, REFER, SAY, ingredients, way
from backbones.scripted.scienceworld.knowledge import (
    find_procedure,
    mix_procedure,
    trial_procedure,
    walk_procedure,
    warm_procedure,
)
from backbones.scripted.scienceworld.lessons import Lesson
from backbones.scripted.scienceworld.memory import FOLDER, MIXTURES, WARMTH, slug, table_name
from backbones.scripted.scienceworld.observing import focused

PROCEDURES = 4
"""New procedures of one update."""
ALL_PROCEDURES = 80
"""Procedures of the memory."""
_KINDS = {"open": "Container", "activate": "Device"}
_NOT_THINGS = frozenset({SAY, REFER, "pick up", "look in", "read"})


class Exercise(NamedTuple):
    """A procedure, and what K_o must state for it: (table or room, entry)."""

    name: str
    text: str
    needs: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        return f"{FOLDER}{self.name}.py"


def exercises(lesson: Lesson) -> list[Exercise]:
    """One for each observation that has no procedure yet, as many as there is room for."""
    kept = sum(entry.is_file for entry in lesson.index.entries)
    room = max(0, min(PROCEDURES, ALL_PROCEDURES - kept))
    new = {one.path: one for one in _all(lesson) if not lesson.index.has(one.path)}
    return list(new.values())[:room]


def _all(lesson: Lesson) -> Iterator[Exercise]:
    """What matters most first."""
    facts = lesson.facts
    for mixed, product in facts.mixtures.items():
        text = mix_procedure(ingredients(mixed), product)
        yield Exercise(f"make_{slug(product)}", text, ((MIXTURES, mixed),))
    for device, seen in facts.warmth.items():
        text = warm_procedure(device, seen.high)
        yield Exercise(f"warmth_of_{slug(device)}", text, ((WARMTH, device),))
    for what, table in facts.tried.items():
        for thing, tally in table.items():
            if tally.worked and what not in _NOT_THINGS:
                text = trial_procedure(what, thing, _KINDS.get(what, "Thing"))
                yield Exercise(f"{_verb(what)}_{slug(thing)}", text, ((table_name(what), thing),))
    yield from _ways(lesson)
    yield from _finds(lesson)


def _verb(what: str) -> str:
    return {CLAIMS: "claim", POWER: "power_with"}.get(what, slug(what)[:40])


def _ways(lesson: Lesson) -> Iterator[Exercise]:
    """The ways to where the task was done, over doors that were seen."""
    start = next((deed.room for deed in lesson.world.deeds if deed.room), "")
    for deed in focused(lesson.world):
        steps = way(lesson.facts.doors, start, deed.room) or ()
        if len(steps) > 1:
            needs = tuple(zip((start, *steps), steps, strict=False))
            name = f"walk_{slug(start)}_to_{slug(deed.room)}"
            yield Exercise(name, walk_procedure(start, steps), needs)


def _finds(lesson: Lesson) -> Iterator[Exercise]:
    """Where what the task names was found."""
    for deed in focused(lesson.world):
        thing = deed.command.thing
        for room in lesson.facts.rooms_with(thing):
            yield Exercise(f"find_{slug(thing)}", find_procedure(thing, room), ((room, thing),))
