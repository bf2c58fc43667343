"""Finding the way, and finding things: known places first, then rooms not seen, then closed containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.facts import REFER, way
from backbones.scripted.scienceworld.reading import Thing
from backbones.scripted.scienceworld.scene import Scene, fits, names_of

CURIOUS = 2
"""Things per room that are tried though nothing says that they open."""


def route(scene: Scene, target: str) -> tuple[str, ...] | None:
    """Rooms on the shortest known way from here, the target included; None where none is known."""
    return way(scene.facts.doors, scene.world.room, target, scene.world.blocked)


def walk(scene: Scene, target: str, why: str) -> Move | None:
    """The next action on the way to a room; None where there is none."""
    path = route(scene, target)
    if not path:
        return None
    step, world = path[0], scene.world
    known = "I know the way" if len(path) > 1 else "It is next door"
    if (
        world.open_doors.get(frozenset((world.room, step)))
        or (world.room, f"open door to {step}") in world.failed
    ):
        return Move(f"{why} {known}: on to the {step}.", f"go to {step}")
    return Move(f"{why} {known}: first the door to the {step}.", f"open door to {step}")


def look(scene: Scene) -> Move | None:
    """A look around where something is new."""
    room = scene.world.room
    if room in scene.world.looks and room not in scene.world.stale:
        return None
    return Move("Let me see what is here now.", "look around")


def approach(scene: Scene, wanted: str, places: Iterable[str] = ()) -> Move | None:
    """What brings something nearer that is not in sight here; None where nothing is left to try."""
    found = scene.locate(wanted)
    why = f"I look for the {wanted}."
    if found and found[0] != scene.world.room:
        return walk(scene, found[0], f"I saw the {found[1].name} in the {found[0]}.")
    if move := look(scene):
        return move
    likely = [*places, *_recalled(scene, wanted)]
    if scene.world.room in likely and (move := _open_up(scene, why)):
        return move
    for place in likely:
        if place not in scene.world.looks and (move := walk(scene, place, why)):
            return move
    return explore(scene, why) or _open_up(scene, why) or _open_elsewhere(scene, why)


def reach(scene: Scene, room: str, why: str) -> Move | None:
    """On to a room, or to rooms not seen where the way is not known; a look around when there."""
    if room == scene.world.room:
        return look(scene)
    return walk(scene, room, why) or look(scene) or explore(scene, why)


def explore(scene: Scene, why: str) -> Move | None:
    """The nearest room that was not seen in this episode."""
    rooms = {door for doors in scene.facts.doors.values() for door in doors} - scene.world.looks.keys()
    paths = {room: path for room in rooms if (path := route(scene, room))}
    if not paths:
        return None
    target = min(paths, key=lambda room: (len(paths[room]), scene.rank(room)))
    return walk(scene, target, why)


def _recalled(scene: Scene, wanted: str) -> list[str]:
    """Rooms where such a thing was seen before, the likeliest first."""
    found = [
        (max((fits(wanted, name) for name in names), default=0.0), room)
        for room, names in scene.facts.things.items()
        if room not in scene.world.looks
    ]
    return [room for fit, room in sorted(found, key=lambda one: (-one[0], one[1])) if fit > 0]


def _open_up(scene: Scene, why: str) -> Move | None:
    """Opening what is closed here, then, out of curiosity, what may open."""
    room = scene.world.room
    for thing in scene.here:
        if is_shut(scene, room, thing):
            return Move(f"{why} It may be in the {thing.name}.", f"open {thing.name}")
    refusals = sum(verb == "open" for where, verb in _refusals(scene) if where == room)
    for name in sorted(names_of(scene.here), key=scene.rank):
        known = scene.facts.works("open", name)
        if (known or refusals < CURIOUS) and _may_open(scene, name):
            return Move(f"{why} {'I know that' if known else 'Perhaps'} the {name} opens.", f"open {name}")
    return None


def _refusals(scene: Scene) -> Iterator[tuple[str, str]]:
    """(room, verb) of what did not work."""
    return ((deed.room, deed.command.verb) for deed in scene.world.deeds if not deed.worked)


def _may_open(scene: Scene, name: str) -> bool:
    """Whether opening it might show something new."""
    action, facts = f"open {name}", scene.facts
    if scene.did(action) or not scene.can(action) or facts.refuses(REFER, name):
        return False
    return not facts.refuses("open", name) and not any(
        thing.name == name and thing.inside for thing in scene.here
    )


def is_shut(scene: Scene, room: str, thing: Thing) -> bool:
    """Whether something in a room is seen to be closed and may be opened."""
    key = (room, f"open {thing.name}")
    tried = key in scene.world.failed or key in scene.world.done_at
    return thing.is_closed and not tried and not scene.facts.refuses("open", thing.name)


def _open_elsewhere(scene: Scene, why: str) -> Move | None:
    """The way to the nearest room where something is still closed."""
    shut = [
        room for room, things in scene.world.views.items() if any(is_shut(scene, room, one) for one in things)
    ]
    paths = {room: path for room in shut if (path := route(scene, room))}
    if not paths:
        return None
    target = min(paths, key=lambda room: (len(paths[room]), scene.rank(room)))
    return walk(scene, target, why)
