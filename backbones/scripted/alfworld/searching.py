"""Where to look for a thing, and what to try a change with: memory first, then by the seed."""

from __future__ import annotations

import zlib
from collections import Counter
from functools import lru_cache

from backbones.scripted.alfworld.facts import Facts
from backbones.scripted.alfworld.reading import kind_of
from backbones.scripted.alfworld.world import World

UNKNOWN = 0.08
"""The share of a kind of place where a thing was never seen, beside those where it was."""
UNREACHABLE = 2
"""Failures to go to a place after which it is left alone."""


def search_order(world: World, item: str, facts: Facts, seed: int) -> list[str]:
    """Places that were not looked into, the most promising per action first."""
    seen = facts.of(item).seen
    total = sum(seen.values())
    instances = Counter(map(kind_of, world.places))

    def worth(place: str) -> float:
        kind = kind_of(place)
        share = seen.get(kind, 0) / total / instances[kind] if total else 0.0
        cost = 2 if world.closed.get(place, facts.of(kind).can_close) else 1
        return (UNKNOWN / len(world.places) + share) / cost * jitter(seed, place)

    return sorted(
        (place for place in world.places if _is_open_question(world, place)), key=worth, reverse=True
    )


def _is_open_question(world: World, place: str) -> bool:
    if place in world.things:
        return False
    ways = (f"go to {place}", f"examine {place}", f"open {place}")
    return world.refused.get(ways[0], 0) < UNREACHABLE and not any(way in world.vain for way in ways)


def treating_places(world: World, verb: str, facts: Facts, seed: int) -> list[str]:
    """Places to try a change at, one per kind: those that work, then those of which nothing is known."""
    failed = {kind for kind, verbs in world.fails.items() if verb in verbs}
    works, useless = facts.treating(verb) - failed, facts.failing(verb) | failed
    places: dict[str, str] = {}
    for place in sorted(world.places, key=lambda place: (not world.is_at(place), jitter(seed, place))):
        if f"go to {place}" not in world.vain or world.is_at(place):
            places.setdefault(kind_of(place), place)
    known = [kind for kind in places if kind in works]
    rest = sorted(
        (kind for kind in places if kind not in works and kind not in useless),
        key=lambda kind: jitter(seed, f"{verb} with {kind}"),
    )
    return [places[kind] for kind in (*known, *rest)]


@lru_cache(maxsize=16384)
def jitter(seed: int, text: str) -> float:
    """A number in [0.5, 1.5) that depends on the seed and the text only."""
    return 0.5 + zlib.crc32(f"{seed}|{text}".encode()) / 2**32


def habit(seed: int, name: str, share: float) -> bool:
    """Whether an episode has a habit that this share of episodes has."""
    return jitter(seed, f"habit {name}") < 0.5 + share
