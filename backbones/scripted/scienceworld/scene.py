"""A turn's scene: the goal, the world so far, and what is known of it from now and before."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from backbones.scripted.dialogue import Dialogue
from backbones.scripted.index import Index
from backbones.scripted.scienceworld.facts import Facts, together, wording
from backbones.scripted.scienceworld.goals import Goal, goal_in
from backbones.scripted.scienceworld.memory import facts_in
from backbones.scripted.scienceworld.observing import facts_of
from backbones.scripted.scienceworld.reading import Thing
from backbones.scripted.scienceworld.world import World, world_of


@dataclass(frozen=True)
class Scene:
    """All that a turn is decided from."""

    goal: Goal
    world: World
    facts: Facts
    """Recalled and seen."""
    index: Index
    asked: frozenset[str]
    """Names that were inspected, found or not."""
    inspects_left: int
    steps_left: int
    seed: int

    @cached_property
    def here(self) -> tuple[Thing, ...]:
        """Everything in sight."""
        return self.world.views.get(self.world.room, ())

    def locate(self, wanted: str) -> tuple[str, Thing] | None:
        """(room, thing) of what fits a name best, this room first; None where nothing in sight does."""
        rooms = sorted(self.world.views, key=lambda room: room != self.world.room)
        best: tuple[float, str, Thing] | None = None
        for room in rooms:
            for thing in self.world.views[room]:
                fit = fits(wanted, thing.name)
                if fit and (best is None or fit > best[0]):
                    best = (fit, room, thing)
        return best[1:] if best else None

    def has(self, wanted: str) -> bool:
        """Whether it is in the inventory."""
        return any(fits(wanted, name) for name in self.world.held)

    def can(self, action: str) -> bool:
        """Whether an action is worth a try: it did not fail in this room."""
        return (self.world.room, action) not in self.world.failed

    def did(self, action: str) -> bool:
        """Whether an action worked in this room."""
        return (self.world.room, action) in self.world.done_at

    def rank(self, text: str) -> int:
        """A number that decides between equals, the same for the whole episode."""
        return zlib.crc32(f"{self.seed}:{text}".encode())

    def holder(self, wanted: Thing) -> Thing | None:
        """What something in this room is directly in."""
        look = self.world.looks.get(self.world.room)
        pairs = look.everything if look else ()
        return next((inside for thing, inside in pairs if thing is wanted), None)


def fits(wanted: str, name: str) -> float:
    """How well a thing's name fits what is wanted: 0 where a wanted word is missing, more where few others
    are in it, and most where it also ends alike."""
    words, own = wording(wanted).split(), wording(name).split()
    if not words or any(word not in own for word in words):
        return 0.0
    return len(words) / len(own) + (words[-1] == own[-1])


def read_scene(dialogue: Dialogue, seed: int) -> Scene | None:
    """The scene of a dialogue; None where its opening states no goal."""
    goal = goal_in(dialogue.opening)
    if goal is None:
        return None
    world = world_of(dialogue.opening, ((one.action, one.observation) for one in dialogue.exchanges))
    facts = Facts()
    for text in (dialogue.known, *dialogue.shown):
        facts = together(facts, facts_in(text))
    return Scene(
        goal=goal,
        world=world,
        facts=together(facts, facts_of(world, goal)),
        index=dialogue.index,
        asked=dialogue.asked,
        inspects_left=dialogue.inspects_left,
        steps_left=dialogue.steps_left,
        seed=seed,
    )


def names_of(things: tuple[Thing, ...]) -> Iterator[str]:
    """Their names, each once."""
    yield from dict.fromkeys(thing.name for thing in things)
