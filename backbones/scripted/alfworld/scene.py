"""An episode as its dialogue shows it, and what to look up in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from backbones.scripted.alfworld.facts import Facts, together
from backbones.scripted.alfworld.goals import Goal, goal_in
from backbones.scripted.alfworld.memory import facts_in, worth_reading
from backbones.scripted.alfworld.reading import places_in
from backbones.scripted.alfworld.searching import habit
from backbones.scripted.alfworld.world import Event, World, world_in
from backbones.scripted.dialogue import Dialogue

NAMES_PER_INSPECT = 6
READS = 0.6
"""Share of episodes in which it reads its notes at all."""


@dataclass(frozen=True)
class Scene:
    """An episode as its dialogue shows it, and how it is played."""

    goal: Goal
    world: World
    facts: Facts
    """Of the memory and of this episode."""
    to_read: tuple[str, ...]
    """Names in the memory to inspect now."""
    seed: int

    def knows(self, what: str) -> bool:
        """That something has no effect."""
        return what in self.facts.in_vain


def read_scene(dialogue: Dialogue, seed: int) -> Scene | None:
    """The episode so far; None where the text shows no goal or no room."""
    goal, places = goal_in(dialogue.opening), places_in(dialogue.opening)
    if goal is None or not places:
        return None
    events = (Event(exchange.action, exchange.observation) for exchange in dialogue.exchanges)
    world = world_in(goal, places, events)
    recalled = map(facts_in, (dialogue.known, *dialogue.shown))
    reads = dialogue.inspects_left > 0 and habit(seed, "read", READS)
    names = worth_reading(dialogue.index, goal, places) if reads else ()
    return Scene(
        goal=goal,
        world=world,
        facts=reduce(together, recalled, Facts(in_vain=frozenset(world.in_vain))),
        to_read=tuple(name for name in names if name not in dialogue.asked)[:NAMES_PER_INSPECT],
        seed=seed,
    )
