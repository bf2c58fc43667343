"""What an episode teaches, as read from the text of a reflection or an update prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backbones.scripted.alfworld.core import class_name
from backbones.scripted.alfworld.exercises import WAYS
from backbones.scripted.alfworld.facts import Facts
from backbones.scripted.alfworld.goals import Goal, goal_in
from backbones.scripted.alfworld.knowledge import AT, FIND
from backbones.scripted.alfworld.reading import kind_of, places_in
from backbones.scripted.alfworld.searching import jitter
from backbones.scripted.alfworld.world import Event, World, world_in
from backbones.scripted.index import Index
from backbones.scripted.report import Report
from ocm.identity import derive_seed

KINDS = 5
"""Kinds that one update touches at most."""
PROCEDURES = 3
"""Procedures that one update adds at most, where there is a K_o."""


@dataclass(frozen=True)
class Lesson:
    """An episode's observations beside what is known already."""

    goal: Goal
    world: World
    facts: Facts
    index: Index
    keeps_objects: bool
    keeps_procedures: bool

    def entry(self, kind: str) -> str:
        """Where a kind's facts are kept: its class, or its file where there is no K_o."""
        if self.keeps_objects:
            return class_name(kind)
        return (AT if self.facts.of(kind).is_place else FIND).format(kind=kind)

    def kinds(self) -> list[str]:
        """Kinds that there is something to say about: the goal's, where changes were tried, then new ones."""
        told = self.facts.kinds
        tried = [name for name, kind in told.items() if kind.treats or kind.fails]
        seed = derive_seed(str(self.goal), *self.world.places)
        rest = sorted(
            (
                name
                for name, kind in told.items()
                if not kind.is_place or (kind.can_close and self._is_new(name))
            ),
            key=lambda name: (not self._is_new(name), jitter(seed, name)),
        )
        first = (self.goal.item, self.goal.lamp, *tried)
        return [name for name in dict.fromkeys((*first, *rest)) if name in told][:KINDS]

    def _is_new(self, kind: str) -> bool:
        return not self.index.has(self.entry(kind))

    @property
    def table(self) -> str:
        """Where it is kept what has no effect."""
        return "NO_EFFECT" if self.keeps_objects else "procedures/no_effect.py"

    def found(self) -> Iterator[tuple[str, str]]:
        """Kind of thing, kind of place: where the goal's things lay at first."""
        for place, things in self.world.first.items():
            for thing in things:
                if kind_of(thing) in (self.goal.item, self.goal.lamp):
                    yield kind_of(thing), kind_of(place)

    def changes(self) -> Iterator[tuple[str, str]]:
        """Verb, kind of place: changes that had an effect."""
        for place, verbs in self.world.treats.items():
            yield from ((verb, kind_of(place)) for verb in sorted(verbs))

    def opened(self) -> Iterator[str]:
        """Kinds of places that were found closed and were opened."""
        yield from dict.fromkeys(kind_of(place) for place in self.world.closed if place in self.world.first)

    def ways(self) -> list[str]:
        """What had no effect and has no procedure yet."""
        return [
            what
            for what in sorted(self.facts.in_vain)
            if what in WAYS and not self.index.has(WAYS[what].path)
        ]


def lesson_in(report: Report) -> Lesson | None:
    """The lesson of an episode; None where the text shows no goal or no room."""
    goal, places = goal_in(report.opening), places_in(report.opening)
    if goal is None or not places:
        return None
    world = world_in(
        goal, places, (Event(line.action, line.observation, line.follows) for line in report.lines)
    )
    return Lesson(goal, world, world.facts(), report.index, report.keeps_objects, report.keeps_procedures)
