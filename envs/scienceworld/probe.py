"""Actions for checks and measurements, made from the observations alone."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_ROOM = "This room is called"
_THING = re.compile(r"^\t(?:an? )?(?:substance called )?([a-z ]+)", re.MULTILINE)
_DOOR = re.compile(r"^\tA door to the ([a-z ]+) ", re.MULTILINE)


def probe(seen: Sequence[str], draw: random.Random) -> str:
    """Look at, take or open what the last description of a room names, or go on to another room.

    It never focuses, which could end the task.
    """
    room = next(text for text in reversed(seen) if text.startswith(_ROOM))
    things = [thing.strip() for thing in _THING.findall(room)]
    doors = _DOOR.findall(room)
    verbs = ("look at", "look in", "pick up", "open", "activate")
    choices = ["look around", "look around", "inventory", *(f"{draw.choice(verbs)} {one}" for one in things)]
    for door in doors:
        choices += [f"open door to {door}", f"go to {door}"]
    return draw.choice(choices)
