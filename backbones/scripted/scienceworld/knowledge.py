"""From facts to Python source: the object model K_o and the procedures K_p that the stand-in writes.

K_o has a small core (`CORE`), one class per room with its doors and what was seen in it, and tables of
what was tried on things and what came of it. A procedure exercises one observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backbones.scripted.scienceworld.facts import Facts
from backbones.scripted.scienceworld.memory import MIXTURES, POINTS, TRIED, WARMTH, room_class, table_name

THINGS_PER_ROOM = 40
ENTRIES_PER_TABLE = 60
HOLDERS = 60
"""Bounds of what is kept, rooms and tables together for the last; what came first stays, so that
procedures stay true. All 149 tasks leave under 60,000 characters."""
_LONGEST = 90
"""Characters of a name or a claim that is kept."""

CORE: Mapping[str, str] = {
    "Room": '''class Room:
    """A place: its doors lead to other places, its things were seen there."""

    known = {}
    name = ""
    doors = ()
    things = ()

    def __init_subclass__(cls):
        Room.known[cls.name] = cls
''',
    "walk": '''def walk(start, steps):
    """Where one is after going through these doors, or None where a door is not known."""
    for step in steps:
        if start not in Room.known or step not in Room.known[start].doors:
            return None
        start = step
    return start
''',
    "route": '''def route(start, goal):
    """The places on the shortest known way, the goal included; None where no way is known."""
    ways, seen = [(start, ())], {start}
    for place, way in ways:
        if place == goal:
            return way
        for step in Room.known[place].doors if place in Room.known else ():
            if step not in seen:
                seen.add(step)
                ways.append((step, way + (step,)))
    return None
''',
    "Thing": '''class Thing:
    """Something with a name; what can be done with it is known from trying."""

    def __init__(self, name):
        self.name = name

    def did(self, trials):
        """Whether it ever worked."""
        return trials.get(self.name, (0, 0))[0] > 0

    def allows(self, trials):
        """True or False, as it was seen more often; None where nothing is known."""
        worked, refused = trials.get(self.name, (0, 0))
        return None if worked == refused else worked > refused

    def rooms(self):
        """Places where it was seen."""
        return sorted(name for name, room in Room.known.items() if self.name in room.things)
''',
    "Container": '''class Container(Thing):
    """A thing that may be opened, and hold other things."""

    def opens(self):
        """Whether opening it works; None where nothing is known."""
        return self.allows(TRIED_OPEN)
''',
    "Device": '''class Device(Thing):
    """A thing that may be switched, and may change the temperature of what is in or on it."""

    def switches(self):
        """Whether activating it works; None where nothing is known."""
        return self.allows(TRIED_ACTIVATE)

    def reaches(self, degrees):
        """Whether what was in or on it was seen to be as cold and as warm as that."""
        low, high = WARMTH.get(self.name, (degrees + 1, degrees - 1))
        return low <= degrees <= high
''',
    "mix": '''def mix(*parts):
    """What mixing these gives, or None where nothing is known."""
    return MIXTURES.get(" + ".join(sorted(parts)))
''',
}
CORE_TABLES = (table_name("open"), table_name("activate"), MIXTURES, WARMTH)
"""Tables that the core refers to."""


def tables_of(facts: Facts) -> dict[str, Mapping[str, object]]:
    """Constant -> table, for everything but the rooms; bounded."""
    found: dict[str, Mapping[str, object]] = {
        table_name(what): {thing: tuple(tally) for thing, tally in table.items()}
        for what, table in facts.tried.items()
    }
    found[MIXTURES] = facts.mixtures
    found[WARMTH] = {name: tuple(seen) for name, seen in facts.warmth.items()}
    found[POINTS] = facts.points
    return {name: _bounded(table) for name, table in found.items()}


def _bounded(table: Mapping[str, object]) -> dict[str, object]:
    kept = [key for key in table if len(key) <= _LONGEST and key.isprintable()][:ENTRIES_PER_TABLE]
    return {key: table[key] for key in kept}


def table_text(name: str, table: Mapping[str, object]) -> str:
    """A table as the definition of a constant."""
    lines = "".join(f"    {key!r}: {value!r},\n" for key, value in table.items())
    return f"# {_MEANING.get(name, _TRIALS)}\n{name} = {{\n{lines}}}\n"


_TRIALS = "thing -> (times it worked, times it was refused), counted up to 3"
_MEANING = {
    MIXTURES: "ingredients in the order of the alphabet -> what mixing them gives",
    WARMTH: "device -> (lowest, highest) temperature seen of what was in or on it",
    POINTS: "thing -> its points of contact",
}


def room_text(room: str, doors: Iterable[str], things: Iterable[str]) -> str:
    """The class of a room."""
    body = "\n".join(f"    {line}" for line in _room_lines(room, doors, things))
    return f'class {room_class(room)}(Room):\n    """The {room}."""\n\n{body}\n'


def _room_lines(room: str, doors: Iterable[str], things: Iterable[str]) -> tuple[str, ...]:
    return f"name = {room!r}", f"doors = {tuple(doors)!r}", f"things = {tuple(things)!r}"


def room_procedure(room: str, doors: Iterable[str], things: Iterable[str]) -> str:
    """A procedure that stands alone: a room, where there is no K_o."""
    doors = tuple(doors)
    checks = "".join(f"assert leads_to({door!r})\n" for door in doors)
    body = "\n".join(_room_lines(room, doors, things))
    return (
        f'"""The {room}: its doors, and what was seen there."""\n\n{body}\n\n\n'
        f'def leads_to(place):\n    """Whether a door leads there."""\n    return place in doors\n\n\n'
        f"{checks}"
    )


def table_procedure(name: str, table: Mapping[str, object]) -> str:
    """A procedure that stands alone: a table, where there is no K_o."""
    checks = "".join(f"assert look_up({key!r}) == {value!r}\n" for key, value in table.items())
    return (
        f'"""{_heading(name)}."""\n\n{table_text(name, table)}\n\n'
        f'def look_up(key):\n    """What is known of it, or None."""\n    return {name}.get(key)\n\n\n'
        f"{checks}"
    )


def _heading(name: str) -> str:
    return name.removeprefix(TRIED).replace("_", " ").capitalize()


def walk_procedure(start: str, steps: tuple[str, ...]) -> str:
    """A procedure that goes a way that was gone."""
    return (
        f'"""Walk from the {start} to the {steps[-1]}."""\n\nfrom objects import route, walk\n\n'
        f"# Each door has to be opened before it is gone through.\n"
        f"assert walk({start!r}, {steps!r}) == {steps[-1]!r}\n"
        f"assert len(route({start!r}, {steps[-1]!r})) <= {len(steps)}\n"
    )


def find_procedure(thing: str, room: str) -> str:
    """A procedure that tells where something was found."""
    return (
        f'"""Find the {thing}."""\n\nfrom objects import Thing\n\n'
        f"assert {room!r} in Thing({thing!r}).rooms()\n"
    )


def trial_procedure(what: str, thing: str, kind: str) -> str:
    """A procedure that does what worked, or tells what was right."""
    name = table_name(what)
    return (
        f'"""{what.capitalize()}: {thing}."""\n\nfrom objects import {name}, {kind}\n\n'
        f"assert {kind}({thing!r}).did({name})\n"
    )


def mix_procedure(parts: tuple[str, ...], product: str) -> str:
    """A procedure that makes a substance."""
    return (
        f'"""Make {product}."""\n\nfrom objects import mix\n\n'
        f"# Seen: put all into one container, then mix that.\n"
        f"assert mix({', '.join(map(repr, parts))}) == {product!r}\n"
    )


def warm_procedure(device: str, degrees: int) -> str:
    """A procedure that warms or cools."""
    return (
        f'"""Use the {device} for its temperature."""\n\nfrom objects import Device\n\n'
        f"assert Device({device!r}).reaches({degrees})\n"
    )
