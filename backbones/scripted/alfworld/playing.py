"""One acting reply: look something up, find, take, change, bring and put, or hold under a light."""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.alfworld.astray import astray
from backbones.scripted.alfworld.facts import EXAMINE, NEAR, PUT, TWO
from backbones.scripted.alfworld.reading import kind_of
from backbones.scripted.alfworld.scene import Scene
from backbones.scripted.alfworld.searching import (
    UNREACHABLE,
    habit,
    jitter,
    search_order,
    treating_places,
)
from backbones.scripted.alfworld.world import World
from backbones.scripted.player import Move

CURIOUS, SAYS_PUT, EXAMINES = 0.5, 0.35, 0.5
"""Shares of episodes in which, without knowing better, it examines what it could not go to, says ``put``
as the goal does, and examines a thing under a light."""


def decide(scene: Scene) -> Move:
    """The next turn of a scene."""
    if scene.to_read:
        return Move("My notes may help here.", f"Inspect[{', '.join(scene.to_read)}]")
    moves = (*_forward(scene), *_wander(scene))
    move = next((move for move in moves if move.text not in scene.world.vain), moves[-1])
    return astray(move, scene.world, scene.seed, scene.facts)


def _forward(scene: Scene) -> Iterator[Move]:
    """What leads to the goal, the best first; what was just in vain is passed over."""
    goal, world = scene.goal, scene.world
    ready = [thing for thing in world.held if kind_of(thing) == goal.item]
    raw = [thing for thing in ready if goal.treatment and goal.treatment not in world.changed.get(thing, ())]
    if not ready:
        yield from _put_away(scene)
        yield from _fetch(scene)
    elif raw:
        yield from _treat(scene, raw[0])
    elif goal.lamp:
        yield from _light(scene, ready[0])
    else:
        if _missing(scene) > len(ready) and not scene.knows(TWO):
            yield from _fetch(scene)
        yield from _deliver(scene, ready[0])


def _target(scene: Scene) -> str:
    """The place that things are brought to: one that has some, or is here, before others."""
    goal, world = scene.goal, scene.world
    places = [
        place for place in world.places if kind_of(place) == goal.place and not _is_barred(world, place)
    ]
    count = {place: sum(place == other for _, other in world.where(goal.item)) for place in places}
    order = sorted(
        places, key=lambda place: (-count[place], not world.is_at(place), jitter(scene.seed, place))
    )
    return order[0] if order else ""


def _is_barred(world: World, place: str) -> bool:
    return any(action.startswith("move ") and action.endswith(f" to {place}") for action in world.vain)


def _missing(scene: Scene) -> int:
    """How many things are still to be brought."""
    return scene.goal.count - len(_delivered(scene))


def _delivered(scene: Scene) -> set[str]:
    goal, world, target = scene.goal, scene.world, _target(scene)
    there = {thing for thing, place in world.where(goal.item) if place == target}
    if goal.count > 1:
        return there
    return {
        thing for thing in there if thing in world.moved and (not goal.treatment or thing in world.changed)
    }


def _fetch(scene: Scene) -> Iterator[Move]:
    item, world = scene.goal.item, scene.world
    delivered = _delivered(scene)
    spots = [(thing, place) for thing, place in world.where(item) if thing not in delivered]
    for thing, place in sorted(spots, key=lambda spot: not world.is_at(spot[1])):
        yield from _at(scene, place, Move(f"There is {thing}: I take it.", f"take {thing} from {place}"))
    yield from _search(scene, item)


def _search(scene: Scene, item: str) -> Iterator[Move]:
    seen = scene.facts.of(item).seen
    for place in search_order(scene.world, item, scene.facts, scene.seed):
        why = (
            f"As I know, {item} may be at {kind_of(place)}"
            if kind_of(place) in seen
            else f"I look for {item}"
        )
        yield from _at(scene, place, Move(f"{why}.", f"examine {place}"))


def _treat(scene: Scene, thing: str) -> Iterator[Move]:
    verb = scene.goal.treatment
    known = scene.facts.treating(verb)
    for place in treating_places(scene.world, verb, scene.facts, scene.seed):
        sure = "As I know" if kind_of(place) in known else "Perhaps"
        move = Move(f"{sure}, {kind_of(place)} can {verb} {thing}.", f"{verb} {thing} with {place}")
        yield from _at(scene, place, move, is_open=False)


def _light(scene: Scene, thing: str) -> Iterator[Move]:
    lamp = scene.goal.lamp
    for light, place in scene.world.where(lamp):
        if not scene.knows(EXAMINE) and habit(scene.seed, EXAMINE, EXAMINES):
            yield from _at(scene, place, Move(f"I look at {thing} under {light}.", f"examine {thing}"))
        yield from _at(scene, place, Move(f"I hold {thing} and use {light}.", f"use {light}"))
    yield from _search(scene, lamp)


def _deliver(scene: Scene, thing: str) -> Iterator[Move]:
    place = _target(scene)
    if not place:
        return
    if not scene.knows(PUT) and habit(scene.seed, PUT, SAYS_PUT):
        yield from _at(scene, place, Move(f"{thing} belongs here.", f"put {thing} in/on {place}"))
    yield from _at(scene, place, Move(f"{thing} belongs to {place}.", f"move {thing} to {place}"))


def _put_away(scene: Scene) -> Iterator[Move]:
    world = scene.world
    for thing in world.held:
        for place in (world.at, *world.places):
            if place:
                yield from _at(scene, place, Move(f"I do not need {thing}.", f"move {thing} to {place}"))


def _at(scene: Scene, place: str, then: Move, *, is_open: bool = True) -> Iterator[Move]:
    """How to come to a place, open it where that is needed, and do something there."""
    world = scene.world
    if not world.is_at(place):
        yield from _go(scene, place, then)
    elif is_open and world.closed.get(place):
        yield Move(f"{place} is closed.", f"open {place}")
    else:
        yield then


def _go(scene: Scene, place: str, then: Move) -> Iterator[Move]:
    go = f"go to {place}"
    if go not in scene.world.vain and scene.world.refused.get(go, 0) < UNREACHABLE:
        yield Move(then.thought, go)
    elif go in scene.world.vain and (scene.knows(NEAR) or habit(scene.seed, NEAR, CURIOUS)):
        yield Move(f"Perhaps {place} is in reach already.", f"examine {place}")


def _wander(scene: Scene) -> Iterator[Move]:
    """Somewhere else, for another view; in the end just a look."""
    world = scene.world
    steps = len(world.things) + sum(world.refused.values())
    for place in sorted(world.places, key=lambda place: jitter(scene.seed, f"{place} {steps}")):
        if place != world.at:
            yield Move("I do not know what else to do here.", f"go to {place}")
    yield Move("I look again.", "look")
