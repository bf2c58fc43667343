"""What a goal asks for: things of a kind, changed or not, brought to a place or held under a light."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

VERBS = {"hot": "heat", "cool": "cool", "cold": "cool", "chilled": "cool", "clean": "clean"}
"""English: the state that a goal names, and the action that leads to it."""
NUMBERS = {"two": 2, "three": 3}

_ARTICLE = r"(?:(?:a|an|the|some|one) )?"
_STATE = rf"(?:(?P<state>{'|'.join(VERBS)}) )?"
_COUNT = rf"(?:(?P<count>{'|'.join(NUMBERS)}) )?"
_INTO = r"(?:in|on|into|onto|to|inside|in/on)"
_ITEM = rf"{_ARTICLE}(?P<item>[a-z]+)"
_PLACE = rf"{_ARTICLE}(?P<place>[a-z]+)"
_AND_PUT = rf"and (?:then )?(?:put|place|move) (?:it|them) {_INTO}"
_HEAD = r"^(?:goal: *)?(?:your task is to: *)?"
_TAIL = r"[ .!]*$"
_PHRASES = tuple(
    re.compile(f"{_HEAD}{phrase}{_TAIL}", re.IGNORECASE | re.MULTILINE)
    for phrase in (
        rf"(?P<verb>heat|cool|clean) {_ITEM},? {_AND_PUT} {_PLACE}",
        rf"find {_COUNT}{_ITEM},? {_AND_PUT} {_PLACE}",
        rf"(?:put|place|move) {_COUNT}{_ARTICLE}{_STATE}(?P<item>[a-z]+) {_INTO} {_PLACE}",
        rf"(?:look at|examine) {_ITEM} (?:under|with|using|by) {_ARTICLE}(?P<lamp>[a-z]+)",
    )
)


@dataclass(frozen=True)
class Goal:
    """A goal in terms of kinds."""

    item: str
    count: int = 1
    treatment: str = ""
    """``heat``, ``cool``, ``clean``, or empty."""
    place: str = ""
    """Empty where the things are to be held under a light."""
    lamp: str = ""


@lru_cache(maxsize=1024)
def goal_in(text: str) -> Goal | None:
    """The first goal in a text; None where it holds none of the known phrases."""
    found = next((match for phrase in _PHRASES if (match := phrase.search(text))), None)
    if found is None:
        return None
    said = {name: (value or "").lower() for name, value in found.groupdict().items()}
    return Goal(
        item=said["item"],
        count=NUMBERS.get(said.get("count", ""), 1),
        treatment=said.get("verb") or VERBS.get(said.get("state", ""), ""),
        place=said.get("place", ""),
        lamp=said.get("lamp", ""),
    )
