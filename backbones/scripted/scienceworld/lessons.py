"""What an episode teaches, as read from the text of a reflection or an update prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from backbones.scripted.index import Index
from backbones.scripted.report import Report
from backbones.scripted.scienceworld.facts import Facts
from backbones.scripted.scienceworld.goals import Goal, goal_in
from backbones.scripted.scienceworld.memory import (
    MIXTURES,
    POINTS,
    WARMTH,
    room_class,
    room_file,
    table_file,
    table_name,
)
from backbones.scripted.scienceworld.observing import facts_of
from backbones.scripted.scienceworld.world import World


@dataclass(frozen=True)
class Lesson:
    """An episode's observations beside what is known already."""

    goal: Goal
    world: World
    facts: Facts
    index: Index
    keeps_objects: bool
    keeps_procedures: bool

    @cached_property
    def rooms(self) -> list[str]:
        """Rooms that were seen."""
        return list(self.facts.doors)

    @cached_property
    def tables(self) -> list[str]:
        """Names of the tables that there is something to say about."""
        named = {MIXTURES: self.facts.mixtures, WARMTH: self.facts.warmth, POINTS: self.facts.points}
        return [
            *(table_name(what) for what in self.facts.tried),
            *(name for name, table in named.items() if table),
        ]

    def holder_of_room(self, room: str) -> str:
        """What holds a room: a class of K_o, or a file where there is no K_o."""
        return room_class(room) if self.keeps_objects else room_file(room)

    def holder_of_table(self, name: str) -> str:
        return name if self.keeps_objects else table_file(name)


def lesson_in(report: Report) -> Lesson:
    """The lesson of an episode."""
    goal = goal_in(report.opening)
    assert goal is not None, "asked only where plays() holds"
    world = World()
    world.see(report.first)
    for line in report.lines:
        if not line.follows:
            world.lose_track()
        world.hear(line.action, line.observation)
    ended = report.success or "ended the episode" in report.outcome
    return Lesson(
        goal=goal,
        world=world,
        facts=facts_of(world, goal, report.success if ended else None),
        index=report.index,
        keeps_objects=report.keeps_objects,
        keeps_procedures=report.keeps_procedures,
    )
