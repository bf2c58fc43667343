"""Reading one text of the environment. A thing is called ``kind number``, such as ``thing 2``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_NAME = r"[a-z]{1,40} \d{1,3}"
_THING = re.compile(rf"\b{_NAME}\b")
_ROOM = re.compile(r"you are in the middle of a room\b[^\n]*?\byou see (?P<places>[^\n]*)", re.IGNORECASE)
_ON = re.compile(rf"\bOn the (?P<place>{_NAME}), you see (?P<things>[^.\n]*)")
_OPEN = re.compile(rf"\bThe (?P<place>{_NAME}) is open\.(?: In it, you see (?P<things>[^.\n]*))?")
_CLOSED = re.compile(rf"\bThe (?P<place>{_NAME}) is closed\b|\bYou close the (?P<closed>{_NAME})\b")
_ARRIVED = re.compile(rf"\bYou arrive at (?:the )?(?P<place>{_NAME})\b")
_TAKEN = re.compile(rf"\bYou (?:pick up|take) the (?P<thing>{_NAME}) from the (?P<place>{_NAME})\b")
_PUT = re.compile(
    rf"\bYou (?:move|put) the (?P<thing>{_NAME}) (?:to|in/on|in|on|into) the (?P<place>{_NAME})\b"
)
_CHANGED = re.compile(
    rf"\bYou (?P<verb>heat|cool|clean) the (?P<thing>{_NAME}) (?:using|with) the (?P<place>{_NAME})\b"
)
_LIT = re.compile(rf"\bYou turn (?:on|off) the (?P<thing>{_NAME})\b")
_TRIED = re.compile(rf"^(?P<verb>heat|cool|clean) (?P<thing>{_NAME}) with (?P<place>{_NAME})$")
_NOTHING = re.compile(r"^\s*Nothing happens\b", re.IGNORECASE)


class Sight(NamedTuple):
    """A place as it was seen."""

    place: str
    can_close: bool
    is_closed: bool
    things: tuple[str, ...]


class Deed(NamedTuple):
    """A thing, the place it went to or came from, and the verb where there are several."""

    thing: str
    place: str
    verb: str = ""


class Told(NamedTuple):
    """What one observation tells."""

    sights: tuple[Sight, ...] = ()
    arrived: str = ""
    taken: Deed | None = None
    put: Deed | None = None
    changed: Deed | None = None
    lit: str = ""
    nothing: bool = False
    """That the action had no effect."""


def kind_of(name: str) -> str:
    """The kind of a thing."""
    return name.rpartition(" ")[0]


@lru_cache(maxsize=1024)
def places_in(text: str) -> tuple[str, ...]:
    """The places that a room's first description names; empty where there is none."""
    found = _ROOM.search(text)
    return tuple(dict.fromkeys(_THING.findall(found["places"]))) if found else ()


@lru_cache(maxsize=1024)
def told_in(text: str) -> Told:
    """What an observation tells."""
    if _NOTHING.match(text):
        return Told(nothing=True)
    arrived, lit = _ARRIVED.search(text), _LIT.search(text)
    return Told(
        sights=_sights(text),
        arrived=arrived["place"] if arrived else "",
        taken=_deed(_TAKEN, text),
        put=_deed(_PUT, text),
        changed=_deed(_CHANGED, text),
        lit=lit["thing"] if lit else "",
    )


@lru_cache(maxsize=1024)
def treatment_in(action: str) -> Deed | None:
    """The thing that an action is to change, with what, and how; None where it is none of these."""
    return _deed(_TRIED, action)


def _deed(pattern: re.Pattern[str], text: str) -> Deed | None:
    found = pattern.search(text)
    if found is None:
        return None
    said = found.groupdict()
    return Deed(said["thing"], said["place"], said.get("verb", ""))


def _sights(text: str) -> tuple[Sight, ...]:
    on = (Sight(m["place"], False, False, _things(m["things"])) for m in _ON.finditer(text))
    opened = (Sight(m["place"], True, False, _things(m["things"] or "")) for m in _OPEN.finditer(text))
    closed = (Sight(m["place"] or m["closed"], True, True, ()) for m in _CLOSED.finditer(text))
    return (*on, *opened, *closed)


def _things(text: str) -> tuple[str, ...]:
    return tuple(_THING.findall(text))
