"""Steps that many tasks share: come by a thing, take it, focus on it, bring it to a place, measure."""

from __future__ import annotations

from collections.abc import Iterable

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.facts import REFER, SAY
from backbones.scripted.scienceworld.reading import Thing, degrees_in
from backbones.scripted.scienceworld.scene import Scene, fits
from backbones.scripted.scienceworld.seeking import approach


def found_here(scene: Scene, wanted: str) -> Thing | None:
    """What fits a name best among all that is in sight or carried."""
    carried = (inner for thing in scene.world.held.values() for inner in thing.all())
    things = [*scene.here, *carried]
    best = max(things, key=lambda thing: fits(wanted, thing.name), default=None)
    return best if best and fits(wanted, best.name) else None


def called(scene: Scene, thing: Thing) -> str:
    """How to refer to a thing: with what it is in where its name alone is known to be unclear."""
    inside = scene.holder(thing)
    unclear = scene.facts.refuses(REFER, thing.name)
    return f"{thing.name} in {inside.name}" if unclear and inside else thing.name


def act_on(scene: Scene, verb: str, wanted: str, places: Iterable[str], thought: str) -> Move | None:
    """A verb on a thing, on the way to it first; None where nothing is left to try."""
    thing = found_here(scene, wanted)
    if thing is None:
        return approach(scene, wanted, places)
    for name in dict.fromkeys((called(scene, thing), thing.name, wanted.lower())):
        if scene.can(f"{verb} {name}"):
            return Move(thought, f"{verb} {name}")
    return None


def take(scene: Scene, wanted: str, places: Iterable[str] = ()) -> Move | None:
    """Picking something up; None when carried or where it cannot be."""
    thing = found_here(scene, wanted)
    if scene.has(wanted) or (thing and scene.facts.refuses("pick up", thing.name)):
        return None
    return act_on(scene, "pick up", wanted, places, f"I take the {wanted} with me.")


def focus(scene: Scene, wanted: str, places: Iterable[str] = ()) -> Move | None:
    """Focusing once on something that the task names; None when done."""
    done = (deed for deed in scene.world.deeds if deed.worked and deed.command.verb == "focus on")
    if any(fits(wanted, deed.command.thing.partition(" in ")[0]) for deed in done):
        return None
    return act_on(scene, "focus on", wanted, places, f"The task says: focus on the {wanted}.")


def literally(scene: Scene) -> Move | None:
    """The task's own verb as an action, once: perhaps the environment knows it."""
    verb, subject = scene.goal.verb, scene.goal.subject
    said = any(deed.command.verb == verb for deed in scene.world.deeds)
    if said or not subject or scene.facts.refuses(SAY, verb) or not found_here(scene, subject):
        return None
    return Move(f"Perhaps I can simply {verb} it.", f"{verb} {subject.lower()}")


def bring(scene: Scene, wanted: str, box: str, places: Iterable[str]) -> Move | None:
    """Moving something into a box elsewhere; None when done or where nothing is left to try."""
    thing = found_here(scene, wanted)
    if thing is None:
        return approach(scene, wanted)
    target = found_here(scene, box)
    if target is None:
        return take(scene, wanted) or approach(scene, box, places)
    action = f"move {thing.name} to {target.name}"
    if scene.did(action) or not scene.can(action):
        return None
    return Move(f"The {wanted} belongs in the {box}.", action)


def measured(scene: Scene, subject: str) -> int | None:
    """The last temperature that was read of something."""
    readings = [
        degrees_in(deed.observation)
        for deed in scene.world.deeds
        if deed.worked and deed.command.verb == "use" and fits(subject, deed.command.other)
    ]
    found = [reading for reading in readings if reading is not None]
    return found[-1] if found else None


def measure(scene: Scene, tool: str, subject: str, places: Iterable[str]) -> Move | None:
    """Reading something's temperature once with a tool that is carried."""
    if measured(scene, subject) is not None or not scene.has(tool):
        return None
    thing = found_here(scene, subject)
    if thing is None:
        return approach(scene, subject, places)
    action = f"use {tool} on {thing.name}"
    return Move(f"I measure the {subject}.", action) if scene.can(action) else None
