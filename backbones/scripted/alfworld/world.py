"""What a history of actions and observations shows: what is where, in hand, changed, and in vain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from backbones.scripted.alfworld.facts import EXAMINE, NAMELESS, NEAR, PUT, TWO, Facts, Kind
from backbones.scripted.alfworld.goals import Goal
from backbones.scripted.alfworld.reading import Deed, Sight, Told, kind_of, told_in, treatment_in


class Event(NamedTuple):
    """One action and what the environment answered."""

    action: str
    observation: str
    follows: bool = True
    """False where steps before it are not known."""


@dataclass
class World:
    """The room as far as it was seen; only :func:`world_in` writes it."""

    goal: Goal
    places: tuple[str, ...]
    at: str = ""
    """The place that one arrived at last; empty in the middle of the room."""
    reach: set[str] = field(default_factory=set)
    """Other places that turned out to be in reach from there."""
    things: dict[str, list[str]] = field(default_factory=dict)
    """Place -> what is there; places that were not looked into are missing."""
    first: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Place -> what was there before anyone moved it."""
    closed: dict[str, bool] = field(default_factory=dict)
    """Whether it is closed now, for places that can be."""
    held: list[str] = field(default_factory=list)
    moved: set[str] = field(default_factory=set)
    changed: dict[str, set[str]] = field(default_factory=dict)
    """Thing -> verbs that had an effect on it."""
    treats: dict[str, set[str]] = field(default_factory=dict)
    """Place -> verbs that had an effect there."""
    fails: dict[str, set[str]] = field(default_factory=dict)
    """Place -> verbs that had none, on a thing that was carried there."""
    clock: int = 0
    """Actions so far."""
    looked: dict[str, int] = field(default_factory=dict)
    """Place -> when its things were last seen."""
    looks: dict[str, int] = field(default_factory=dict)
    """Place -> how often its things were seen."""
    vain: set[str] = field(default_factory=set)
    """Actions without effect, since something last changed."""
    refused: dict[str, int] = field(default_factory=dict)
    """Action -> how often it had no effect."""
    in_vain: set[str] = field(default_factory=set)
    """What had no effect, by its description in :mod:`facts`."""

    def is_at(self, place: str) -> bool:
        return place == self.at or place in self.reach

    def where(self, kind: str) -> list[tuple[str, str]]:
        """(thing, place) for all things of a kind that lie somewhere, in the order of sighting."""
        return [
            (thing, place) for place, all_ in self.things.items() for thing in all_ if kind_of(thing) == kind
        ]

    def facts(self) -> Facts:
        """What the episode shows of kinds."""
        seen: dict[str, dict[str, int]] = {}
        for place, things in self.first.items():
            for thing in things:
                seen.setdefault(kind_of(thing), {})[kind_of(place)] = 1
        kinds = {name: Kind(seen=places) for name, places in seen.items()}
        looked = {*self.first, *self.closed}
        for name in dict.fromkeys(kind_of(place) for place in self.places if place in looked):
            kinds[name] = Kind(
                is_place=True,
                seen=seen.get(name, {}),
                can_close=any(kind_of(place) == name for place in self.closed),
                treats=_verbs(self.treats, name),
                fails=_verbs(self.fails, name) - _verbs(self.treats, name),
            )
        return Facts(kinds, frozenset(self.in_vain))


def _verbs(at: Mapping[str, set[str]], kind: str) -> frozenset[str]:
    """What holds of any place of a kind."""
    return frozenset(verb for place, verbs in at.items() if kind_of(place) == kind for verb in verbs)


def world_in(goal: Goal, places: tuple[str, ...], events: Iterable[Event]) -> World:
    """The room after these events."""
    world = World(goal, places)
    for event in events:
        if not event.follows:
            world.at = ""
            world.reach.clear()
        _hear(world, event.action, told_in(event.observation))
    return world


def _hear(world: World, action: str, told: Told) -> None:
    world.clock += 1
    if told.nothing:
        _note_failure(world, action)
        return
    if told.arrived:
        world.at = told.arrived
        world.reach.clear()
    for sight in told.sights:
        _note_sight(world, sight)
    if told.taken:
        _note_taken(world, told.taken)
    if told.put:
        _note_put(world, told.put)
    if told.changed:
        _note_changed(world, told.changed)
    if told.arrived or told.sights or told.taken or told.put or told.changed or told.lit:
        world.vain.clear()
    else:
        world.vain.add(action)
        _note_examined(world, action)


def _note_failure(world: World, action: str) -> None:
    world.vain.add(action)
    world.refused[action] = world.refused.get(action, 0) + 1
    tried = treatment_in(action)
    if tried and tried.thing in world.held and world.is_at(tried.place):
        world.fails.setdefault(tried.place, set()).add(tried.verb)
    verb, _, rest = action.partition(" ")
    if verb == "put":
        world.in_vain.add(PUT)
    if rest and not rest[-1].isdigit():
        world.in_vain.add(NAMELESS)
    thing, _, place = rest.partition(" from ")
    if verb == "take" and world.held and thing in world.things.get(place, ()):
        world.in_vain.add(TWO)


def _note_sight(world: World, sight: Sight) -> None:
    if not world.is_at(sight.place):
        world.reach.add(sight.place)
        if f"go to {sight.place}" in world.vain:
            world.in_vain.add(NEAR)
    if sight.can_close:
        world.closed[sight.place] = sight.is_closed
    if not sight.is_closed:
        unmoved = tuple(thing for thing in sight.things if thing not in world.moved)
        world.first.setdefault(sight.place, unmoved)
        world.things[sight.place] = list(sight.things)
        world.looked[sight.place] = world.clock
        world.looks[sight.place] = world.looks.get(sight.place, 0) + 1


def _note_taken(world: World, deed: Deed) -> None:
    things = world.things.get(deed.place, [])
    if deed.thing in things:
        things.remove(deed.thing)
    if deed.thing not in world.held:
        world.held.append(deed.thing)
    world.moved.add(deed.thing)


def _note_put(world: World, deed: Deed) -> None:
    if deed.thing in world.held:
        world.held.remove(deed.thing)
    things = world.things.setdefault(deed.place, [])
    if deed.thing not in things:
        things.append(deed.thing)


def _note_changed(world: World, deed: Deed) -> None:
    world.changed.setdefault(deed.thing, set()).add(deed.verb)
    world.treats.setdefault(deed.place, set()).add(deed.verb)


def _note_examined(world: World, action: str) -> None:
    thing = action.removeprefix("examine ")
    lamps = [kind_of(other) for other in world.things.get(world.at, ())]
    if thing in world.held and world.goal.lamp in lamps:
        world.in_vain.add(EXAMINE)
