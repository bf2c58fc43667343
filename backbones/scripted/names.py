"""Likeness of item names by their parts: all that a player without knowledge can go by."""

from __future__ import annotations

import re
from functools import lru_cache

_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
SHORTEST_STEM = 3


@lru_cache(maxsize=1024)
def tokens(name: str) -> tuple[str, ...]:
    """The lower-case words of a snake_case or CamelCase name."""
    return tuple(part.lower() for part in _CAMEL.findall(name))


@lru_cache(maxsize=1024)
def kind(item: str) -> str:
    """The last word of a name, by which things of a kind are called alike."""
    words = tokens(item)
    return words[-1] if words else item


@lru_cache(maxsize=1024)
def likeness(target: str, item: str) -> float:
    """How much of an item's name is found in the target's, in [0, 1]. A common stem counts in part."""
    wanted, words = tokens(target), tokens(item)
    if not words or not wanted:
        return 0.0
    covered = sum(max(_word(word, other) for other in wanted) for word in words) / len(words)
    covering = sum(max(_word(word, other) for other in words) for word in wanted) / len(wanted)
    return 0.6 * covered + 0.4 * covering


@lru_cache(maxsize=1024)
def _word(one: str, other: str) -> float:
    if one == other:
        return 1.0
    stem = 0
    while stem < min(len(one), len(other)) and one[stem] == other[stem]:
        stem += 1
    return stem / max(len(one), len(other)) if stem >= SHORTEST_STEM else 0.0


@lru_cache(maxsize=1024)
def difference(known: str, wanted: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The words in which two names differ, at least one each, and how many words at the end they share.

    ``("oak_slab", "dark_oak_slab")`` gives ``("oak",), ("dark", "oak"), 1``.
    """
    a, b = tokens(known), tokens(wanted)
    tail = 0
    while tail < min(len(a), len(b)) and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    if tail == min(len(a), len(b)):
        tail -= 1
    head = 0
    while head < min(len(a), len(b)) - tail - 1 and a[head] == b[head]:
        head += 1
    return a[head : len(a) - tail], b[head : len(b) - tail], tail


@lru_cache(maxsize=1024)
def by_analogy(item: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """An item's name with one run of words replaced by another; the same where it is not in it."""
    words = tokens(item)
    if not old or not new:
        return item
    for start in range(len(words) - len(old) + 1):
        if words[start : start + len(old)] == old:
            return "_".join((*words[:start], *new, *words[start + len(old) :]))
    return item
