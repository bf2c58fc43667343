"""What is known of the world: observed in an episode or recalled from memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

CLAIMS = "claims"
"""The table of statements by which a task was decided."""
SAY = "say"
"""The table of first words of actions: whether the environment knows them."""
REFER = "refer to"
"""The table of names: refused where a name meant several things."""
POWER = "power"
"""The table of things that were in a circuit with what was to be powered."""
ENOUGH = 3
"""What is counted is counted no further."""
ALIKE = 2
"""Things of a kind after which the kind is assumed to be alike."""


class Tally(NamedTuple):
    """How often something worked, and how often it did not."""

    worked: int = 0
    refused: int = 0

    @property
    def hope(self) -> float:
        """In [0, 1]: 0.5 where nothing is known or both are seen alike."""
        return (1 + self.worked) / (2 + self.worked + self.refused)


class Range(NamedTuple):
    """The lowest and the highest temperature seen, in degrees Celsius."""

    low: int
    high: int


Tables = Mapping[str, Mapping[str, Tally]]


@dataclass(frozen=True)
class Facts:
    """The map, what is where, what was tried, and what came of it."""

    doors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Room -> rooms behind its doors."""
    things: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Room -> names of things that were seen there."""
    tried: Tables = field(default_factory=dict)
    """A verb, a question or another table -> thing -> how often it worked and did not."""
    mixtures: Mapping[str, str] = field(default_factory=dict)
    """Ingredients, sorted and joined by `` + `` -> product."""
    warmth: Mapping[str, Range] = field(default_factory=dict)
    """Device -> temperatures seen of what was in or on it."""
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Thing -> its points of contact; none where it has none."""

    @property
    def empty(self) -> bool:
        return self == Facts()

    def tally(self, what: str, thing: str) -> Tally:
        """What was seen of it; where nothing was, what was seen of things of its kind, as an assumption."""
        table = self.tried.get(what, {})
        own = table.get(thing)
        if own is not None or what in (CLAIMS, SAY, REFER):
            return own or Tally()
        return self._kinds.get((what, thing.rpartition(" ")[2]), Tally())

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, str], Tally]:
        """(table, last word) -> tallies of several things whose names end alike."""
        found: dict[tuple[str, str], list[Tally]] = {}
        for what, table in self.tried.items():
            for thing, tally in table.items():
                found.setdefault((what, thing.rpartition(" ")[2]), []).append(tally)
        return {
            key: Tally(sum(one.worked > 0 for one in tallies), sum(one.refused > 0 for one in tallies))
            for key, tallies in found.items()
            if len(tallies) >= ALIKE
        }

    def refuses(self, what: str, thing: str) -> bool:
        """Whether it is known not to work."""
        return self.tally(what, thing).hope < 0.5

    def works(self, what: str, thing: str) -> bool:
        """Whether it is known to work."""
        return self.tally(what, thing).hope > 0.5

    def rooms_with(self, thing: str) -> list[str]:
        """Rooms where something of this name was seen."""
        return [room for room, names in self.things.items() if thing in names]


def together(older: Facts, newer: Facts) -> Facts:
    """Both. A newer map of a room replaces the older; all else adds up."""
    return Facts(
        doors={**older.doors, **newer.doors},
        things=_joined(older.things, newer.things),
        tried=_added(older.tried, newer.tried),
        mixtures={**older.mixtures, **newer.mixtures},
        warmth={**older.warmth, **{name: _wider(older, name, seen) for name, seen in newer.warmth.items()}},
        points={**older.points, **newer.points},
    )


def _joined(
    older: Mapping[str, tuple[str, ...]], newer: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    return {
        room: tuple(dict.fromkeys((*older.get(room, ()), *newer.get(room, ()))))
        for room in {**older, **newer}
    }


def _added(older: Tables, newer: Tables) -> Tables:
    found = {what: dict(table) for what, table in older.items()}
    for what, table in newer.items():
        known = found.setdefault(what, {})
        for thing, (worked, refused) in table.items():
            before = known.get(thing, Tally())
            known[thing] = Tally(min(before.worked + worked, ENOUGH), min(before.refused + refused, ENOUGH))
    return found


def _wider(older: Facts, name: str, seen: Range) -> Range:
    before = older.warmth.get(name, seen)
    return Range(min(before.low, seen.low), max(before.high, seen.high))


def way(
    doors: Mapping[str, tuple[str, ...]],
    start: str,
    goal: str,
    blocked: Collection[tuple[str, str]] = (),
) -> tuple[str, ...] | None:
    """The rooms on the shortest way over these doors, the goal included; None where there is none."""
    paths: list[tuple[str, tuple[str, ...]]] = [(start, ())]
    seen = {start}
    for room, path in paths:
        if room == goal:
            return path
        for door in doors.get(room, ()):
            if door not in seen and (room, door) not in blocked:
                seen.add(door)
                paths.append((door, (*path, door)))
    return None


def wording(text: str) -> str:
    """A text in lower-case words: how questions and claims are compared."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def claim(condition: str, subject: str) -> str:
    """A condition as a statement of its own."""
    words = wording(condition)
    whole = f"{wording(subject)}{words[2:]}" if words.startswith("it ") else words
    return whole if wording(subject) in whole else f"{wording(subject)} {whole}"


def ingredients(mixture: str) -> tuple[str, ...]:
    """What a key of the mixtures names."""
    return tuple(mixture.split(" + "))


def mixture(parts: tuple[str, ...]) -> str:
    """The key of what was mixed."""
    return " + ".join(sorted(parts))
