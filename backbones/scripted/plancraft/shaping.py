"""What to try without knowing: geometric shapes on the grid, and smelting, with prior weights.

The weights say only that compact, symmetric shapes and items that are called like the target come
first. Shapes that memory shows for the target's kind come before all others.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, permutations
from math import prod, sqrt
from typing import NamedTuple

from backbones.scripted.names import kind, likeness
from backbones.scripted.plancraft.facts import Way
from backbones.scripted.plancraft.grids import filled, shape_of
from backbones.scripted.plancraft.planning import Book

# fmt: off
SHAPES: Mapping[str, float] = {
    # one item: single, rows, blocks, then outlines
    "a": 1.0, "aa": 0.5, "a/a": 0.5, "aaa": 0.6, "aa/aa": 0.8, "aaa/aaa": 0.6, "aa/aa/aa": 0.45,
    "aaa/aaa/aaa": 0.7, "a--/aa-/aaa": 0.45, "aaa/a-a/aaa": 0.35, "aaa/a-a": 0.35, "a-a/a-a": 0.35,
    "a-a/aaa": 0.35, "a-a/-a-": 0.35, "a-a/aaa/aaa": 0.3, "aaa/a-a/a-a": 0.3, "a/a/a": 0.15,
    "-a-/aaa/-a-": 0.1,
    # two items: beside, above, with a handle, ring, stripes
    "ab": 0.6, "a/b": 0.5, "a/b/b": 0.35, "a/a/b": 0.35, "aa/ab/-b": 0.3, "aa/-b/-b": 0.3,
    "aaa/-b-/-b-": 0.35, "aaa/aba/aaa": 0.55, "aaa/bbb": 0.35, "aba/aba": 0.35, "aaa/aaa/-b-": 0.25,
    "aba": 0.2, "aab": 0.25, "-a-/aba/-a-": 0.25, "ab/ba": 0.25, "aaa/-b-": 0.2, "a-a/aba/aba": 0.1,
    "a-a/aba/aaa": 0.1, "-ab/a-b/-ab": 0.1, "aaa/aab/aaa": 0.05, "aa/bb": 0.1, "aba/bab/aba": 0.1,
    "aaa/bbb/aaa": 0.15,
    # three items: in a row, stacked, with a core
    "abc": 0.3, "a/b/c": 0.15, "aab/bbb/bcc": 0.05, "aaa/bcb/bbb": 0.05, "abb/bbc/ccc": 0.1,
}
# fmt: on
UNRELATED = 0.12
"""Weight of an item whose name has nothing in common with the target's."""
INDIRECT = 0.4
"""How much less an item weighs that must be made first: making it uses up what may be needed."""
USED_UP = 0.2
"""How much more a grid weighs that takes exactly as many as there are, per further item of it."""
ITEMS_ALONE, ITEMS_PAIRED, ITEMS_TRIPLED = 10, 6, 4
"""How many of the likeliest items are tried alone, in pairs, in threes."""
MOST = 240
"""Grids kept for one stock: more than an episode can try."""
SMELTING = 0.8
LEARNED = 3.0
"""How much more a shape weighs that memory shows for the target's kind."""


class Guess(NamedTuple):
    """Something to try, and how promising it looks."""

    way: Way
    weight: float


def guesses(
    target: str, book: Book, stock: Mapping[str, int], reachable: set[str], seed: int, most: int
) -> list[Guess]:
    """What is open and worth a try, the most promising first."""
    counts = tuple(sorted(stock.items()))
    made = tuple(sorted(reachable - stock.keys()))
    grids = _grids(target, counts, made, _learned(target, book), seed)
    found = list(islice((guess for guess in grids if book.is_open(guess.way)), most))
    found += [guess for guess in _smelts(target, book, stock, seed) if book.is_open(guess.way)]
    return sorted(found, key=lambda guess: -guess.weight)[:most]


def _affinity(target: str, item: str) -> float:
    return UNRELATED + likeness(target, item)


def _learned(target: str, book: Book) -> tuple[tuple[str, float], ...]:
    """Shapes of the target's kind, as far as they are known."""
    shapes = Counter(shape_of(way.pattern) for way in book.by_kind.get(kind(target), ()) if way.pattern)
    return tuple(sorted((shape, LEARNED * min(3, times)) for shape, times in shapes.items()))


@lru_cache(maxsize=64)
def _grids(
    target: str,
    counts: tuple[tuple[str, int], ...],
    made: tuple[str, ...],
    learned: tuple[tuple[str, float], ...],
    seed: int,
) -> tuple[Guess, ...]:
    """The grids of the likeliest items, the most promising first."""
    stock = dict(counts)
    affinity = {item: _affinity(target, item) for item in stock}
    affinity |= {item: INDIRECT * _affinity(target, item) for item in made if kind(item) != kind(target)}
    ranked = sorted(affinity, key=lambda item: -affinity[item] * _jitter(seed, item))
    shapes: dict[int, list[tuple[str, float]]] = {}
    for shape, weight in {**SHAPES, **dict(learned)}.items():
        shapes.setdefault(len(set(shape) - set("-/")), []).append((shape, weight))
    found = []
    for letters, width in ((1, ITEMS_ALONE), (2, ITEMS_PAIRED), (3, ITEMS_TRIPLED)):
        for items in permutations(ranked[:width], letters):
            fit = prod(affinity[item] for item in items) ** (1 / sqrt(letters))
            for shape, weight in shapes.get(letters, ()):
                supply = _supply(shape, items, stock)
                if supply:
                    pattern = filled(shape, dict(zip("abc", items, strict=False)))
                    value = weight * fit * supply * _jitter(seed, pattern)
                    found.append(Guess(Way(target, 1, pattern=pattern, trust=0.0), value))
    return tuple(sorted(found, key=lambda guess: -guess.weight)[:MOST])


def _supply(shape: str, items: Sequence[str], stock: Mapping[str, int]) -> float:
    """0 where there is too little; more than 1 where a craft uses several of an item, and all there is."""
    factor = 1.0
    for letter, item in zip("abc", items, strict=False):
        count, there = shape.count(letter), stock.get(item)
        if there is None:
            continue
        if there < count:
            return 0.0
        if there == count:
            factor *= 1 + USED_UP * (count - 1)
    return factor


def _smelts(target: str, book: Book, stock: Mapping[str, int], seed: int) -> Iterator[Guess]:
    rate = _smelting_rate(book)
    for item in stock:
        value = SMELTING * rate * _affinity(target, item) * _jitter(seed, item)
        yield Guess(Way(target, 1, smelted=item, trust=0.0), value)


def _smelting_rate(book: Book) -> float:
    """How often smelting something new had an effect, as far as it was tried; 1 without experience."""
    facts = book.facts
    return (len(facts.smelts) + 4) / (len(facts.smelts) + 4 + 2 * len(facts.unsmeltable))


def _jitter(seed: int, text: str) -> float:
    """A factor about 1 that depends on the seed and the text only."""
    return 0.8 + 0.45 * (zlib.crc32(f"{seed}|{text}".encode()) / 2**32)
