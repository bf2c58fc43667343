"""One game as the engine takes it, and the six types of tasks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

FILE_NAME = "game.tw-pddl"
TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""In the package's order."""
_SOLVABLE = re.compile(rb'"solvable": *(true|false)')
_TAIL = 8192
"""Bytes at a game file's end: ``solvable`` and the walkthrough stand there, after 60 KB of game."""


class Game(NamedTuple):
    """What can be done, what is said, and the room with its goal; never the file's ``walkthrough``."""

    pddl_domain: str
    grammar: str
    pddl_problem: str


def read_game(path: Path) -> Game:
    """The game in a ``game.tw-pddl``.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such file.
    """
    try:
        return parse_game(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_game(content: bytes) -> Game:
    """The game in the content of a ``game.tw-pddl``.

    Raises:
        ValueError: it is no such content.
    """
    data = _loaded(content)
    if not isinstance(data, dict) or not all(isinstance(data.get(key), str) for key in Game._fields):
        raise ValueError(f"it lacks one of {', '.join(Game._fields)}")
    return Game(*(data[key] for key in Game._fields))


def task_type(game_id: str) -> str | None:
    """The type that a game's id begins with, or None for those that the benchmark leaves out.

    The rule is the package's (``AlfredTWEnv.collect_game_files``): six types, and no game with a movable
    receptacle or a sliced object, which the text engine does not support.
    """
    kind = game_id.partition("-")[0]
    return kind if kind in TASK_TYPES and "movable" not in game_id and "Sliced" not in game_id else None


def is_solvable(path: Path) -> bool:
    """Whether the file says so; the package leaves out games that are not, and games that do not say.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such file.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        found = _SOLVABLE.findall(file.read())
    if found:
        return bool(found[-1] == b"true")
    try:
        data = _loaded(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return isinstance(data, dict) and bool(data.get("solvable"))


def _loaded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
