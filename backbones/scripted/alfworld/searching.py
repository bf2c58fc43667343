"""Where to look for a thing, and what to try a change with: memory first, then by the seed."""

from __future__ import annotations

import zlib
from collections import Counter
from functools import lru_cache

from backbones.scripted.alfworld.facts import Facts
from backbones.scripted.alfworld.reading import kind_of
from backbones.scripted.alfworld.world import World

SEEN_BEFORE = 0.4
"""How much less it expects of a place with each time that it looked there."""
UNKNOWN = 0.2
"""The share of a kind of place where a thing was never seen, beside those where it was."""
PASSES_BY = 0.6
"""Share of closed places that it does not open while there are others, as long as it never opened one."""
UNREACHABLE = 2
"""Failures to go to a place after which it is left alone."""


SPAN = 5
"""Actions after which it has forgotten that it looked into a place: its attention is short."""


def search_order(world: World, item: str, facts: Facts, seed: int) -> list[str]:
    """Places that were not looked into, the most promising per action first."""
    seen = facts.of(item).seen
    total = sum(seen.values())
    instances = Counter(map(kind_of, world.places))

    block = world.clock // SPAN

    def worth(place: str) -> float:
        kind = kind_of(place)
        share = seen.get(kind, 0) / total / instances[kind] if total else 0.0
        cost = (not world.is_at(place)) + world.closed.get(place, facts.of(kind).can_close)
        dim = SEEN_BEFORE ** world.looks.get(place, 0)
        return dim * (UNKNOWN / len(world.places) + share) / max(1, cost) * jitter(seed, f"{place} {block}")

    places = (place for place in world.places if _is_open_question(world, place))
    return sorted(
        places, key=lambda place: (not _passes_by(world, place, facts, seed), worth(place)), reverse=True
    )


def _passes_by(world: World, place: str, facts: Facts, seed: int) -> bool:
    """Whether it leaves a closed place closed, as it does where it was never seen to hide something."""
    is_new = not facts.of(kind_of(place)).can_close
    return is_new and world.closed.get(place, False) and habit(seed, place, PASSES_BY)


def _is_open_question(world: World, place: str) -> bool:
    if world.clock - world.looked.get(place, -SPAN) < SPAN or world.vain & {
        f"examine {place}",
        f"open {place}",
    }:
        return False
    return world.refused.get(f"go to {place}", 0) < UNREACHABLE


def treating_places(world: World, verb: str, facts: Facts, seed: int) -> list[str]:
    """Places to try a change at: those that are known to work, then those of which nothing is known.

    That a change fails at one place says nothing of its kind before it is in the memory.
    """
    works, useless = facts.treating(verb), facts.failing(verb)

    def rank(place: str) -> tuple[bool, bool, float]:
        return kind_of(place) not in works, not world.is_at(place), jitter(seed, f"{verb} with {place}")

    return sorted(
        (
            place
            for place in world.places
            if verb not in world.fails.get(place, ()) and kind_of(place) not in useless
        ),
        key=rank,
    )


@lru_cache(maxsize=1024)
def jitter(seed: int, text: str) -> float:
    """A number in [0.5, 1.5) that depends on the seed and the text only."""
    return 0.5 + zlib.crc32(f"{seed}|{text}".encode()) / 2**32


def habit(seed: int, name: str, share: float) -> bool:
    """Whether an episode has a habit that this share of episodes has."""
    return jitter(seed, f"habit {name}") < 0.5 + share
