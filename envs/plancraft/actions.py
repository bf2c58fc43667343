"""The action language, read as the package reads it: patterns searched for in the whole text.

So prose around an action does no harm, the first of several actions' parts win, and case matters.
The order of precedence is move, smelt, impossible, think, search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from envs.plancraft.slots import OUTPUT, SLOT_NAMES, slot_index

_FROM = re.compile(r" from (\[[ABCI]?\d+\])")
_TO = re.compile(r" to (\[[ABCI]?\d+\])")
_QUANTITY = re.compile(r"with quantity (\d+)")
_REASON = re.compile(r"impossible: (.*)")
_SEARCHED = re.compile(r"search: *(\w+)")
_MAX_QUANTITY = 64


class Move(NamedTuple):
    """Take ``quantity`` items from one slot to another."""

    source: int
    target: int
    quantity: int


class Smelt(NamedTuple):
    """Smelt ``quantity`` items of one slot; the products go to another."""

    source: int
    target: int
    quantity: int


class Stop(NamedTuple):
    """Declare the task impossible; ends the episode."""

    reason: str


class Think(NamedTuple):
    """Think aloud."""


class Search(NamedTuple):
    """Ask for the recipes of an item."""

    item: str


class Malformed(NamedTuple):
    """Not in the action language; ``reply`` is what the package answers."""

    reply: str


Action = Move | Smelt | Stop | Think | Search | Malformed


class _Unreadable(Exception):
    """Why an action that was begun cannot be read."""


_MISSING = "'NoneType' object has no attribute 'group'"
"""The package's words where a part is missing: its own exception's text."""


def parse(text: str, names: tuple[str, ...]) -> Action:
    """Read one action.

    Args:
        text: what the agent said; any text.
        names: the allowed actions in order of precedence, a subset of :data:`ACTIONS`.
    """
    for name in names:
        if f"{name}:" in text:
            kind = ACTIONS[name]
            try:
                return kind.read(text)
            except _Unreadable as reason:
                return Malformed(f"Format Error: {reason}. Correct format: {kind.form}")
    return Malformed(f"Only select actions from the following: {', '.join(names)}")


def _find(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        raise _Unreadable(_MISSING)
    return found.group(1)


def _transfer(text: str, verb: str) -> tuple[int, int, int]:
    """Source, target and quantity, checked in the package's order."""
    parts = [_find(pattern, text) for pattern in (_FROM, _TO, _QUANTITY)]
    source, target = _slot(parts[0]), _slot(parts[1])
    quantity = _number(parts[2])
    if source == target:
        raise _Unreadable("[Source] and [Target] must be different")
    if source >= len(SLOT_NAMES):
        raise _Unreadable("[Source] must be [0] or [A1] to [C3] or [I1] to [I36]")
    if target == OUTPUT:
        raise _Unreadable(f"You cannot {verb} items into [0]")
    if target >= len(SLOT_NAMES):
        raise _Unreadable("[Target] must be [A1] to [C3] or [I1] to [I36]")
    if not 1 <= quantity <= _MAX_QUANTITY:
        raise _Unreadable("quantity must be between 1 and 64")
    return source, target, quantity


def _slot(name: str) -> int:
    index = slot_index(name)
    if index is None:
        raise _Unreadable("[Source] and [Target] must be [0] or [A1] to [C3] or [I1] to [I36]")
    return index


def _number(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads no more than some thousand digits
        raise _Unreadable("quantity must be an integer") from None


class _Kind(NamedTuple):
    """One action of the language: its form as the package writes it, and how it is read."""

    form: str
    read: Callable[[str], Action]


ACTIONS: Mapping[str, _Kind] = {
    "move": _Kind(
        "`move: from [Source] to [Target] with quantity N`", lambda text: Move(*_transfer(text, "move"))
    ),
    "smelt": _Kind(
        "`smelt: from [Source] to [Target] with quantity N`", lambda text: Smelt(*_transfer(text, "smelt"))
    ),
    "impossible": _Kind("`impossible: <reason>`", lambda text: Stop(_find(_REASON, text))),
    "think": _Kind("`think: <thought message>`", lambda text: Think()),
    "search": _Kind("`search: <recipe name>`", lambda text: Search(_find(_SEARCHED, text))),
}
"""All actions in order of precedence."""
