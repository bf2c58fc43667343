"""Powering a device: a ring of it, a part that may give power, and two parts between them.

What has points of contact is told by looking at it. Which part gives power is found out by trying.
"""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.doing import found_here
from backbones.scripted.scienceworld.facts import POWER
from backbones.scripted.scienceworld.scene import Scene
from backbones.scripted.scienceworld.seeking import approach

LOOKS = 14
"""Things that are looked at for points of contact."""
_POINTS = 2


def power(scene: Scene) -> Move | None:
    """The next action towards a circuit with the subject; None where there is nothing to power."""
    if scene.goal.verb != "turn":
        return None
    device = found_here(scene, scene.goal.subject)
    if device is None:
        return approach(scene, scene.goal.subject)
    if move := _examine(scene, device.name):
        return move
    for ring in _rings(scene, device.name):
        for one, other in ring:
            action = f"connect {one} to {other}"
            if action not in scene.world.done and scene.can(action):
                return Move("A circuit is a ring: I close it step by step.", action)
        if all(f"connect {one} to {other}" in scene.world.done for one, other in ring):
            break
    return None


def _parts(scene: Scene) -> list[str]:
    """Names of what is in sight and may be a part, the smaller first."""
    names = dict.fromkeys(thing.name for thing in scene.here if not thing.inside and not thing.is_closed)
    return sorted(names, key=scene.rank)


def _examine(scene: Scene, device: str) -> Move | None:
    """A look at what may have points of contact, the device first."""
    looked = sum(deed.command.verb == "look at" for deed in scene.world.deeds)
    for name in (device, *_parts(scene)):
        action = f"look at {name}"
        if (
            name not in scene.facts.points
            and scene.can(action)
            and looked < LOOKS
            and not _enough(scene, device)
        ):
            return Move(f"Has the {name} points of contact?", action)
    return None


def _enough(scene: Scene, device: str) -> bool:
    """Whether the parts of a ring are known."""
    return next(_rings(scene, device), None) is not None


def _rings(scene: Scene, device: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """Rings of connections, those first whose source gave power before."""
    points, facts = scene.facts.points, scene.facts
    parts = [name for name in _parts(scene) if len(points.get(name, ())) == _POINTS and name != device]
    own = points.get(device, ())
    if len(own) < _POINTS:
        return
    sources = [name for name in parts if points[name] == own[:_POINTS]]
    links = [name for name in parts if points[name] != own[:_POINTS]][:_POINTS]
    if len(links) < _POINTS:
        return
    first, second = links
    for source in sorted(sources, key=lambda name: (-facts.tally(POWER, name).hope, scene.rank(name))):
        yield (
            (f"{source} {points[source][0]}", f"{first} {points[first][0]}"),
            (f"{first} {points[first][1]}", f"{device} {own[1]}"),
            (f"{source} {points[source][1]}", f"{second} {points[second][0]}"),
            (f"{second} {points[second][1]}", f"{device} {own[0]}"),
        )
