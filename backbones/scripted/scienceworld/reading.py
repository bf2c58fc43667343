"""Reading the environment's text: descriptions of rooms and things, commands, and short answers.

A room is a list of lines such as ``a table. On the table is: a cup (containing nothing), a fork.`` and of
doors such as ``A door to the attic (that is closed)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

_ROOM = re.compile(r"^This [\w ]+ is called the ([^.\n]+)\.", re.MULTILINE)
_DOOR = re.compile(r"door to the ([^(\n]+?) \(that is (open|closed)\)")
_ARTICLE = re.compile(r"^(?:a substance called|an?|the|some)\s+", re.IGNORECASE)
_NAME_ENDS = re.compile(
    r" \(|, which |, currently | titled |\. |\.$|(?<=\S) in the \w+ stage|its [\w ]+ is connected"
)
_INSIDE = re.compile(r"\b(?:on|in) the [^.:]+ is:\s*(.*)$", re.IGNORECASE | re.DOTALL)
_HOLDING = "(containing "
_CLOSED = re.compile(r"door is closed")
_OFF = re.compile(r"which is (?:turned off|deactivated|off)\b")
_ON = re.compile(r"which is (?:turned on|activated|on)\b")
_POINT = re.compile(r"its ([\w ]+?) is connected to: ([^.]*)")
_DEGREES = re.compile(r"temperature of (-?\d+) degrees")
_REFUSAL = re.compile(r"\b(?:can't|cannot|not|isn't|aren't|doesn't|already|broken|empty)\b|^Unknown action")
_OPTION = re.compile(r"^(\d+):\s*(.+)$", re.MULTILINE)
_WHERE = re.compile(r" \([^()]*\)")
_CUT = re.compile(r"\(\d+ more characters\)\s*$")
_MENU = "Ambiguous request"
_NOT_UNDERSTOOD = "No known action"
_DEEPEST = 6


@dataclass(frozen=True)
class Thing:
    """Something with a name, as a description shows it."""

    name: str
    text: str
    inside: tuple[Thing, ...] = ()

    @property
    def is_closed(self) -> bool:
        return bool(_CLOSED.search(self._own))

    @property
    def is_off(self) -> bool:
        return bool(_OFF.search(self._own))

    @property
    def is_on(self) -> bool:
        return bool(_ON.search(self._own))

    @property
    def holds(self) -> bool:
        """Whether things can be in or on it, by its description."""
        return bool(_INSIDE.search(self.text)) or _HOLDING in self._own

    @cached_property
    def _own(self) -> str:
        """What is said of the thing itself, not of what is in it."""
        return _INSIDE.sub("", self.text)

    def all(self) -> Iterator[Thing]:
        """Itself and all that is in it."""
        yield self
        for thing in self.inside:
            yield from thing.all()


@dataclass(frozen=True)
class Look:
    """A room as it was last seen."""

    room: str
    things: tuple[Thing, ...]
    doors: tuple[tuple[str, bool], ...]
    """(where it leads, whether it is open)."""

    @cached_property
    def everything(self) -> tuple[tuple[Thing, Thing | None], ...]:
        """(thing, what it is directly in, or None); outer things first."""
        found: list[tuple[Thing, Thing | None]] = [(thing, None) for thing in self.things]
        for thing, _ in found:
            found += [(inner, thing) for inner in thing.inside]
        return tuple(found)


class Command(NamedTuple):
    """An action by its verb; ``other`` is what stands after ``to``, ``in``, ``on`` or ``with``."""

    verb: str
    thing: str = ""
    other: str = ""


_PAIRED = re.compile(r"^(move|put|pour|dunk|use|connect) (.+?) (?:into|in|to|onto|on|with) (.+)$")
_SINGLE = re.compile(
    r"^(look around|look at|look in|pick up|put down|focus on|go to|go|open|close|activate|deactivate|mix"
    r"|read|eat|flush|disconnect|wait1|wait|inventory|task|objects|help)\b ?(.*)$"
)


@lru_cache(maxsize=1024)
def command_in(action: str) -> Command:
    """The command in an action's text; of what is none of the rules', the first word is the verb."""
    text = " ".join(action.lower().replace(" the ", " ").split())
    if match := _PAIRED.match(text):
        return Command(*match.groups())
    if match := _SINGLE.match(text):
        return Command("go" if match[1] == "go to" else match[1], match[2])
    first, _, rest = text.partition(" ")
    return Command(first, rest)


@lru_cache(maxsize=1024)
def look_in(text: str) -> Look | None:
    """The room that a text describes, or None."""
    head = _ROOM.search(text)
    if not head:
        return None
    things = [thing_in(line) for line in text[head.end() :].splitlines() if line.startswith("\t")]
    whole = not _CUT.search(text)
    doors = tuple((room.strip(), state == "open") for room, state in _DOOR.findall(text, head.end()))
    return Look(
        head[1].strip(),
        tuple(thing for thing in things if thing and not _is_other(thing.name)),
        doors if whole else (),
    )


def _is_other(name: str) -> bool:
    """Whether a line tells of a door, or of whoever looks."""
    return name.startswith("door to ") or name == "agent"


@lru_cache(maxsize=1024)
def thing_in(text: str, deep: int = 0) -> Thing | None:
    """The thing that one line describes; None where it names none."""
    text = text.strip()
    end = _NAME_ENDS.search(text)
    name = _ARTICLE.sub("", text[: end.start()] if end else text).strip(" .").lower()
    if not name or name == "nothing":
        return None
    parts = _parts(_listed(text)) if deep < _DEEPEST else []
    inside = (thing_in(part, deep + 1) for part in parts)
    return Thing(name, text, tuple(thing for thing in inside if thing))


def _listed(text: str) -> str:
    """What a description says is in or on a thing."""
    start = text.find(_HOLDING)
    said = _INSIDE.search(text)
    if said and (start < 0 or said.start() < start):
        return said[1].strip().removesuffix(".")
    if start < 0:
        return ""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + len(_HOLDING) : place]
    return text[start + len(_HOLDING) :]


def _parts(listed: str) -> list[str]:
    """A list's items: its commas, less those in brackets and before what describes an item."""
    found, depth = [""], 0
    for character in listed:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += character
    items: list[str] = []
    for part in found:
        if items and part.startswith((" which ", " currently ")):
            items[-1] += f",{part}"
        else:
            items.append(part)
    return items


def worked(observation: str) -> bool:
    """Whether an answer says that the action was carried out. A description always does."""
    if observation.startswith((_MENU, _NOT_UNDERSTOOD, "Format error")):
        return False
    one_line = "\n" not in observation.strip()
    return not (one_line and ":" not in observation and _REFUSAL.search(observation))


def understood(observation: str) -> bool:
    """False where the environment knows no such action, or no such thing."""
    return not observation.startswith(_NOT_UNDERSTOOD)


def options_in(observation: str) -> tuple[str, ...]:
    """The choices of a menu; empty where there is none."""
    if not observation.startswith(_MENU):
        return ()
    return tuple(_WHERE.sub("", option).strip() for _, option in _OPTION.findall(observation))


def points_in(observation: str) -> dict[str, str]:
    """Points of contact and what they are connected to."""
    return {point.strip(): other.strip() for point, other in _POINT.findall(observation)}


def degrees_in(observation: str) -> int | None:
    """A temperature reading."""
    found = _DEGREES.search(observation)
    return int(found[1]) if found else None
