"""Making a substance: by a known mixture or a recipe that is read, else from things called alike."""

from __future__ import annotations

from itertools import combinations

from backbones.scripted.names import kind
from backbones.scripted.player import Move
from backbones.scripted.scienceworld.doing import found_here, take
from backbones.scripted.scienceworld.facts import ingredients, mixture
from backbones.scripted.scienceworld.reading import Thing
from backbones.scripted.scienceworld.scene import Scene, fits
from backbones.scripted.scienceworld.seeking import approach, explore, look


def make(scene: Scene) -> Move | None:
    """The next action towards the product; None where there is none to make or it is there."""
    product = scene.goal.product
    if not product or found_here(scene, product):
        return None
    if move := look(scene):
        return move
    known = [key for key, made in scene.facts.mixtures.items() if made.lower() == product.lower()]
    if known:
        return _combine(scene, ingredients(known[0]))
    if move := _read(scene):
        return move
    pairs = _pairs(scene)
    return _combine(scene, pairs[0]) if pairs else explore(scene, f"I look for what gives {product}.")


def _read(scene: Scene) -> Move | None:
    """Reading what is in sight and seems to be about the product."""
    for thing in scene.here:
        about = " titled " in thing.text and scene.goal.product.lower() in thing.text.lower()
        action = f"read {thing.name}"
        if about and scene.can(action) and not scene.did(action):
            return Move("It may say how.", action)
    return None


def _pairs(scene: Scene) -> list[tuple[str, ...]]:
    """Pairs of things in sight of the product's kind whose mixture is not known."""
    sort = kind(scene.goal.product.replace(" ", "_"))
    alike = sorted({thing.name for thing in scene.here if thing.name.endswith(f" {sort}")}, key=scene.rank)
    return [
        pair
        for pair in combinations(alike, 2)
        if mixture(pair) not in scene.facts.mixtures and f"+{mixture(pair)}" not in scene.world.done
    ]


def _combine(scene: Scene, parts: tuple[str, ...]) -> Move | None:
    """All parts into one vessel, then mixed."""
    vessel = _vessel(scene, parts)
    if vessel is None:
        return explore(scene, "I look for something to mix in.")
    poured = scene.world.contents.get(vessel, [])
    for part in parts:
        if part in poured or any(fits(part, thing.name) for thing in _inside(scene, vessel)):
            continue
        return _add(scene, part, vessel)
    action = f"mix {vessel}"
    return Move(f"All is in the {vessel}.", action) if scene.can(action) else None


def _inside(scene: Scene, vessel: str) -> tuple[Thing, ...]:
    thing = next((thing for thing in scene.here if thing.name == vessel), None)
    return thing.inside if thing else ()


def _vessel(scene: Scene, parts: tuple[str, ...]) -> str | None:
    """What the parts are being put into, else something empty that can hold them."""
    begun = [name for name, poured in scene.world.contents.items() if poured and set(poured) <= set(parts)]
    if begun:
        return begun[-1]
    empty = [
        thing.name
        for thing in scene.here
        if thing.holds
        and not thing.inside
        and "containing" in thing.text
        and scene.can(f"pick up {thing.name}")
    ]
    return min(empty, key=scene.rank, default=None)


def _add(scene: Scene, part: str, vessel: str) -> Move | None:
    thing = found_here(scene, part)
    if thing is None:
        return take(scene, vessel) or approach(scene, part)
    for action in (f"pour {thing.name} in {vessel}", f"move {thing.name} to {vessel}"):
        if scene.can(action):
            return Move(f"The {part} goes into the {vessel}.", action)
    return None
