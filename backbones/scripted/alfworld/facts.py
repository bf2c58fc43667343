"""What is known of kinds of things and places: seen in an episode or recalled from memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

MOST_COUNTED = 9
"""Episodes up to which sightings are counted: more would change the memory and no decision."""
TWO, NEAR, PUT, EXAMINE, NAMELESS = (
    "take a second thing",
    "go to what is in reach",
    "put a thing",
    "examine a thing under a light",
    "leave out a number",
)
"""What may turn out to have no effect."""


@dataclass(frozen=True)
class Kind:
    """What is known of one kind."""

    is_place: bool = False
    seen: Mapping[str, int] = field(default_factory=dict)
    """Kind of place -> in how many episodes it was seen there before anyone moved it."""
    can_close: bool = False
    """Whether one was found closed, or could be opened."""
    treats: frozenset[str] = frozenset()
    """Verbs that had an effect on a thing carried here."""
    fails: frozenset[str] = frozenset()
    """Verbs that had none."""


@dataclass(frozen=True)
class Facts:
    """Kinds by name, and what has no effect, by its description."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    in_vain: frozenset[str] = frozenset()

    def of(self, name: str) -> Kind:
        """What is known of a kind; nothing where it is new."""
        return self.kinds.get(name, _NEW)

    def treating(self, verb: str) -> frozenset[str]:
        """Kinds of places that a verb works at."""
        return frozenset(name for name, kind in self.kinds.items() if verb in kind.treats)

    def failing(self, verb: str) -> frozenset[str]:
        """Kinds of places that it does not work at."""
        return frozenset(name for name, kind in self.kinds.items() if verb in kind.fails)


_NEW = Kind()


def together(one: Facts, other: Facts) -> Facts:
    """Both, where they may tell of the same episodes; the other counts where they contradict each other."""
    return _merged(one, other, max)


def grown(older: Facts, newer: Facts) -> Facts:
    """Both, where the newer tells of an episode that the older does not know."""
    return _merged(older, newer, lambda a, b: min(a + b, MOST_COUNTED))


def _merged(one: Facts, other: Facts, count: Callable[[int, int], int]) -> Facts:
    kinds = dict(one.kinds)
    for name, kind in other.kinds.items():
        kinds[name] = _both(kinds[name], kind, count) if name in kinds else kind
    return Facts(kinds, one.in_vain | other.in_vain)


def _both(one: Kind, other: Kind, count: Callable[[int, int], int]) -> Kind:
    names = dict.fromkeys((*one.seen, *other.seen))
    return Kind(
        is_place=one.is_place or other.is_place,
        seen={name: count(one.seen.get(name, 0), other.seen.get(name, 0)) for name in names},
        can_close=one.can_close or other.can_close,
        treats=(one.treats - other.fails) | other.treats,
        fails=(one.fails - other.treats) | other.fails,
    )
