"""Deleting names from a module: which units go, and exactly which characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge_store.outline import NEWLINE, Outline, Unit

__all__ = ["Ignored", "Removal", "removal", "stretch", "without"]

_BLANK_ABOVE = re.compile(r"(?:(?<=[\r\n])[ \t]*(?>\r\n|\r|\n)){0,2}\Z")
_BLANK_BELOW = re.compile(r"(?:[ \t]*(?>\r\n|\r|\n))*")
_WINDOW = 200
"""Blank lines above a unit are sought in so many characters, to stay linear."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A part of an update that was not carried out, and why."""

    line: int
    """1-based, in the update; for a deletion, in ``objects.py``."""
    what: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.reason}"


@dataclass(frozen=True)
class Removal:
    """What deleting names comes to."""

    units: tuple[Unit, ...]
    deleted: tuple[str, ...]
    unknown: tuple[str, ...]
    ignored: tuple[Ignored, ...]


def removal(before: Outline, delete: Sequence[str], defined: set[str]) -> Removal:
    """Which units go: all of a name's, unless one of them binds a name that stays."""
    names = list(dict.fromkeys(delete))
    bound = {name for unit in before.units for name in unit.names}
    asked = {name for name in names if name in bound and name not in defined}
    doomed = _doomed(before, asked)
    kept = {
        name: unit
        for unit in before.units
        if not doomed.issuperset(unit.names)
        for name in unit.names
        if name in asked
    }
    ignored = [
        Ignored(before.line(unit.core), f"deleting {name}", _shared(unit, name))
        for name, unit in kept.items()
    ]
    ignored += [
        Ignored(0, f"deleting {name}", "the same update defines it") for name in names if name in defined
    ]
    return Removal(
        units=tuple(unit for unit in before.units if unit.names and doomed.issuperset(unit.names)),
        deleted=tuple(name for name in names if name in doomed),
        unknown=tuple(name for name in names if name not in bound and name not in defined),
        ignored=tuple(ignored),
    )


def _doomed(before: Outline, asked: set[str]) -> set[str]:
    """The names of which every unit binds only names that go, too."""
    doomed = set(asked)
    while True:
        mixed = [unit for unit in before.units if not doomed.issuperset(unit.names)]
        staying = doomed & {name for unit in mixed for name in unit.names}
        if not staying:
            return doomed
        doomed -= staying


def _shared(unit: Unit, name: str) -> str:
    others = ", ".join(other for other in unit.names if other != name)
    return f"it is bound together with {others}; delete all of them, or define it anew"


def without(source: Outline, units: Iterable[Unit]) -> str:
    """The text without these units."""
    text = source.source
    for unit in sorted(units, key=lambda unit: unit.start, reverse=True):
        start, stop = stretch(text, unit)
        text = text[:start] + text[stop:]
    return text


def stretch(text: str, unit: Unit) -> tuple[int, int]:
    """From where to where a unit's lines go, with the blank lines that set it off."""
    below = NEWLINE.match(text, unit.end)
    stop = below.end() if below else unit.end
    blank = _BLANK_BELOW.match(text, stop)
    after_blank = blank.end() if blank else stop
    if not text[: unit.start].strip(" \t"):
        return unit.start, after_blank
    start = unit.start
    if after_blank > stop or after_blank == len(text):
        above = _BLANK_ABOVE.search(text, max(0, start - _WINDOW), start)
        start = above.start() if above else start
    return start, stop
