"""ScienceWorld's part of the memory: what to read of it, and the facts that source states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from backbones.scripted.index import Entry, Index, nodes_in, table_in
from backbones.scripted.scienceworld.facts import Facts, Range, Tally

MIXTURES, WARMTH, POINTS = "MIXTURES", "WARMTH", "POINTS"
TRIED = "TRIED_"
FOLDER = "procedures/"
ROOM = "Room"
"""What the class or file of a room is called at its beginning."""
_NAME = re.compile(r"[\w' .,+()-]{1,120}")


def room_class(room: str) -> str:
    """The class of a room."""
    return ROOM + "".join(word.capitalize() for word in re.findall(r"[a-z0-9]+", room.lower()))


def table_name(what: str) -> str:
    """The constant that holds a table of trials."""
    return TRIED + "_".join(what.split()).upper()


def room_file(room: str) -> str:
    """The procedure that holds a room where there is no K_o."""
    return f"{FOLDER}{ROOM.lower()}_{slug(room)}.py"


def table_file(name: str) -> str:
    """The procedure that holds a table where there is no K_o."""
    return f"{FOLDER}list_{name.lower()}.py"


def slug(text: str) -> str:
    """A text as part of a file's name."""
    return "_".join(re.findall(r"[a-z0-9]+", text.lower()))[:60]


def is_room(entry: Entry) -> bool:
    return entry.words[:1] == (ROOM.lower(),) and len(entry.words) > 1


def to_read(index: Index) -> Iterator[str]:
    """Names of what holds facts: rooms first, then the tables."""
    rooms, tables = [], []
    for entry in index.entries:
        if is_room(entry) and not entry.name.isupper():
            rooms.append(entry.name)
        elif entry.name.isupper() or (entry.is_file and entry.words[:1] == ("list",)):
            tables.append(entry.name)
    yield from rooms
    yield from tables


@lru_cache(maxsize=256)
def facts_in(text: str) -> Facts:
    """The facts stated by all code blocks of a text."""
    doors: dict[str, tuple[str, ...]] = {}
    things: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Mapping[Any, Any]] = {}
    for node in nodes_in(text):
        if isinstance(node, ast.ClassDef | ast.Module):
            _note_room(node.body, doors, things)
        elif (table := table_in(node)) and isinstance(table[1], dict):
            tables[table[0].upper()] = table[1]
    return Facts(
        doors=doors,
        things=things,
        tried={
            name.removeprefix(TRIED).lower().replace("_", " "): _tallies(table)
            for name, table in tables.items()
            if name.startswith(TRIED) and table
        },
        mixtures={
            key: made for key, made in tables.get(MIXTURES, {}).items() if _is_name(key) and _is_name(made)
        },
        warmth={
            name: Range(*pair)
            for name, pair in tables.get(WARMTH, {}).items()
            if _is_name(name) and _is_pair(pair)
        },
        points={name: _names(points) for name, points in tables.get(POINTS, {}).items() if _is_name(name)},
    )


def _note_room(
    body: list[ast.stmt], doors: dict[str, tuple[str, ...]], things: dict[str, tuple[str, ...]]
) -> None:
    """What the body of a room's class or file states."""
    stated = dict(table for node in body if (table := table_in(node)))
    name = stated.get("name")
    if _is_name(name) and name and isinstance(stated.get("doors"), tuple):
        doors[name] = _names(stated["doors"])
        things[name] = _names(stated.get("things"))


def _tallies(table: Mapping[Any, Any]) -> dict[str, Tally]:
    return {
        thing: Tally(*counts)
        for thing, counts in table.items()
        if _is_name(thing) and _is_pair(counts) and min(counts) >= 0
    }


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(one) is int for one in value)


def _names(value: object) -> tuple[str, ...]:
    return tuple(name for name in value if _is_name(name)) if isinstance(value, tuple | list) else ()


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(_NAME.fullmatch(value))
