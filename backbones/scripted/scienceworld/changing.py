"""Changing a thing's temperature: into one device after another, those first that are known to do it."""

from __future__ import annotations

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.doing import found_here, take
from backbones.scripted.scienceworld.facts import REFER
from backbones.scripted.scienceworld.reading import Thing, degrees_in
from backbones.scripted.scienceworld.scene import Scene, fits
from backbones.scripted.scienceworld.seeking import approach, explore, look, walk

WAITS = 3
"""Times of waiting per device."""
_COOLING = frozenset({"freeze", "cool"})
_CHANGES = frozenset({"boil", "melt", "heat", "change", *_COOLING})


def change(scene: Scene) -> Move | None:
    """The next try to warm or cool the subject, where the task asks for that."""
    goal = scene.goal
    melts = goal.verb == "measure" and any(" point of " in branch.condition for branch in goal.branches)
    if goal.verb not in _CHANGES and not melts:
        return None
    device = _device(scene)
    if device is None:
        return explore(scene, "I look for a device.")
    room, thing = device
    if thing.name not in scene.world.moved_into.values():
        return _insert(scene, room, thing)
    if scene.world.room != room:
        return walk(scene, room, f"Back to the {thing.name}.")
    return _run(scene, thing) or look(scene)


def tool(scene: Scene) -> str:
    """Something that shows a temperature; empty where none was seen."""
    for things in (scene.world.held.values(), *scene.world.views.values()):
        for thing in things:
            if not thing.inside and degrees_in(thing.text) is not None:
                return thing.name
    return ""


def _device(scene: Scene) -> tuple[str, Thing] | None:
    """The device in use until it was given its time, then the next best."""
    found = {
        thing.name: (room, thing)
        for room, things in scene.world.views.items()
        for thing in things
        if _may_be_device(scene, thing)
    }
    order = sorted(found, key=lambda name: (_promise(scene, name), scene.rank(name)), reverse=True)
    return next((found[name] for name in order if not _is_used_up(scene, name)), None)


def _may_be_device(scene: Scene, thing: Thing) -> bool:
    known = thing.name in scene.facts.warmth
    switched = thing.is_off or thing.is_on
    return known or (thing.holds and switched) or (thing.is_closed and scene.goal.verb in _COOLING)


def _promise(scene: Scene, name: str) -> float:
    """Degrees beyond the usual that a device was seen to reach; 0 where nothing is known."""
    seen = scene.facts.warmth.get(name)
    if seen is None:
        return 1.0 if scene.facts.works("activate", name) else 0.0
    return float(-seen.low if scene.goal.verb in _COOLING else seen.high - 30)


def _is_used_up(scene: Scene, name: str) -> bool:
    """Whether a device had its time, or cannot be used."""
    if any(
        verb == f"activate {name}" or action == f"move {scene.goal.subject.lower()} to {name}"
        for _, action in scene.world.failed
        for verb in (action,)
    ):
        return True
    since = -1
    for number, deed in enumerate(scene.world.deeds):
        if deed.worked and deed.command.verb == "move" and deed.command.other == name:
            since = number
    waits = sum(deed.command.verb == "wait" for deed in scene.world.deeds[since:]) if since >= 0 else 0
    return waits >= WAITS


def _insert(scene: Scene, room: str, device: Thing) -> Move | None:
    """The subject into or onto the device: the thing itself, or what it is in."""
    subject = scene.goal.subject
    held = scene.world.held.values()
    carried = next((one.name for one in held if any(fits(subject, inner.name) for inner in one.all())), "")
    if not carried:
        thing = found_here(scene, subject)
        if thing is None:
            return approach(scene, subject)
        vessel = scene.holder(thing)
        wanted = vessel.name if vessel and not vessel.is_off and not vessel.is_closed else thing.name
        return take(scene, wanted) or take(scene, thing.name)
    if scene.world.room != room:
        return walk(scene, room, f"The {device.name} may do it.") or explore(scene, "I look for the way.")
    here = found_here(scene, device.name) or device
    opening = f"open {device.name}"
    if here.is_closed and not scene.did(opening) and scene.can(opening):
        return Move(f"The {device.name} has to be open.", opening)
    action = f"move {carried} to {device.name}"
    return Move(f"I try the {device.name}.", action) if scene.can(action) else None


def _run(scene: Scene, device: Thing) -> Move | None:
    """Switching on, measuring and waiting, in turn."""
    switch, meter = f"activate {device.name}", tool(scene)
    shown = found_here(scene, device.name) or device
    if (
        shown.is_off
        and not scene.did(switch)
        and scene.can(switch)
        and not scene.facts.refuses(REFER, device.name)
    ):
        return Move(f"The {device.name} is off.", switch)
    if meter and not scene.has(meter) and found_here(scene, meter) and (move := take(scene, meter)):
        return move
    last = scene.world.deeds[-1] if scene.world.deeds else None
    subject = found_here(scene, scene.goal.subject)
    if last and last.command.verb == "wait" and meter and scene.has(meter) and subject:
        action = f"use {meter} on {subject.name}"
        if scene.can(action):
            return Move(f"How warm is the {subject.name} now?", action)
    return Move(f"The {device.name} needs some time.", "wait")
