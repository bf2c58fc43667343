"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from functools import partial

from backbones.scripted.code import Code
from backbones.scripted.misleading import misled, shift, with_right_checks
from backbones.scripted.scienceworld.drafting import Contents, Draft, Room, rendered


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    return misled(good.code, partial(_shifted, good), partial(_forgotten, good), chance)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each room with another's doors, each thing with another's trials."""
    rooms = good.contents.rooms
    doors = shift({room: stated.doors for room, stated in rooms.items()})
    return _with(
        good,
        Contents(
            {room: Room(doors[room], stated.things) for room, stated in rooms.items()},
            {name: shift(table) for name, table in good.contents.tables.items()},
        ),
    )


def _forgotten(good: Draft) -> Code:
    """Definitions written anew from this episode alone: what was in them before is lost."""
    before = good.known
    rooms = {
        room: Room(
            stated.doors, _less(stated.things, before.rooms[room].things if room in before.rooms else ())
        )
        for room, stated in good.contents.rooms.items()
    }
    tables = {
        name: {key: value for key, value in table.items() if key not in before.tables.get(name, {})}
        for name, table in good.contents.tables.items()
    }
    return _with(good, Contents(rooms, tables))


def _less(things: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(thing for thing in things if thing not in known)


def _with(good: Draft, contents: Contents) -> Code:
    return with_right_checks(rendered(good.lesson, contents, good.known), good.code)
