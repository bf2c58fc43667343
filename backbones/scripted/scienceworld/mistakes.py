"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from backbones.scripted.code import Code
from backbones.scripted.scienceworld.drafting import Contents, Draft, Room, rendered

V = TypeVar("V")
OFTEN_SHIFTED = 0.65


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    kinds = (_shifted, _forgotten) if chance.random() < OFTEN_SHIFTED else (_forgotten, _shifted)
    wrong = (kind(good) for kind in kinds)
    return next((code for code in wrong if code.text() != good.code.text()), good.code)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each room with another's doors, each thing with another's trials."""
    rooms = good.contents.rooms
    doors = _shift({room: stated.doors for room, stated in rooms.items()})
    return _with(
        good,
        Contents(
            {room: Room(doors[room], stated.things) for room, stated in rooms.items()},
            {name: _shift(table) for name, table in good.contents.tables.items()},
        ),
    )


def _shift(table: Mapping[str, V]) -> dict[str, V]:
    values = list(table.values())
    return dict(zip(table, [*values[1:], *values[:1]], strict=True))


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
    """Wrong contents beside right procedures; where there is no K_o, the assertions are of before."""
    right, wrong = good.code, rendered(good.lesson, contents, good.known)
    if right.objects:
        return replace(wrong, procedures=right.procedures)
    kept = {
        path: _keep_checks(text, right.procedures.get(path, "")) for path, text in wrong.procedures.items()
    }
    return replace(wrong, procedures=kept)


def _keep_checks(bad: str, good: str) -> str:
    return bad[: bad.find("\nassert")] + good[good.find("\nassert") :] if "\nassert" in good else bad
