"""What to try without knowing: geometric shapes on the grid, and smelting, with prior weights.

The weights say only that compact, symmetric shapes and items that are called like the target come
first. Shapes that memory shows for the target's kind come before all others.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from backbones.scripted.facts import Way
from backbones.scripted.grids import filled, needs, shape_of
from backbones.scripted.names import kind, likeness
from backbones.scripted.planning import Book

# fmt: off
SHAPES: Mapping[str, float] = {
    # one item: single, rows, blocks, then outlines
    "a": 1.0, "aa": 0.5, "a/a": 0.5, "aaa": 0.6, "aa/aa": 0.8, "aaa/aaa": 0.6, "aa/aa/aa": 0.45,
    "aaa/aaa/aaa": 0.7, "a--/aa-/aaa": 0.45, "aaa/a-a/aaa": 0.35, "aaa/a-a": 0.35, "a-a/a-a": 0.35,
    "a-a/aaa": 0.35, "a-a/-a-": 0.35, "a-a/aaa/aaa": 0.3, "aaa/a-a/a-a": 0.3, "a/a/a": 0.15, "-a-/aaa/-a-": 0.1,
    # two items: beside, above, with a handle, ring, stripes
    "ab": 0.6, "a/b": 0.5, "a/b/b": 0.35, "a/a/b": 0.35, "aa/ab/-b": 0.3, "aa/-b/-b": 0.3, "aaa/-b-/-b-": 0.35,
    "aaa/aba/aaa": 0.55, "aaa/bbb": 0.35, "aba/aba": 0.35, "aaa/aaa/-b-": 0.25, "aba": 0.2, "aab": 0.25,
    "-a-/aba/-a-": 0.25, "ab/ba": 0.25, "aaa/-b-": 0.2, "a-a/aba/aba": 0.1, "a-a/aba/aaa": 0.1,
    "-ab/a-b/-ab": 0.1, "aaa/aab/aaa": 0.05, "aa/bb": 0.1, "aba/bab/aba": 0.1, "aaa/bbb/aaa": 0.15,
    # three items: in a row, stacked, with a core
    "abc": 0.3, "a/b/c": 0.15, "aab/bbb/bcc": 0.05, "aaa/bcb/bbb": 0.05, "abb/bbc/ccc": 0.1,
}
# fmt: on
HALF_LIFE = 0.12
"""Weight of an item whose name has nothing in common with the target's."""
ITEMS_ALONE, ITEMS_PAIRED, ITEMS_TRIPLED = 12, 5, 4
"""How many of the likeliest items are tried alone, in pairs, in threes."""
SMELTING = 0.8
LEARNED = 6.0
"""How much more a shape weighs that memory shows for the target's kind."""


class Guess(NamedTuple):
    """Something to try, and how promising it looks."""

    way: Way
    weight: float


def guesses(target: str, book: Book, stock: Mapping[str, int], reachable: set[str], seed: int) -> list[Guess]:
    """Everything open that is worth a try, the most promising first."""
    ranked = sorted(reachable, key=lambda item: (-_affinity(target, item), _jitter(seed, item)))
    shapes = _weighted_shapes(target, book)
    found = [*_grids(target, ranked, shapes, stock, seed), *_smelts(target, book, stock, seed)]
    return sorted((guess for guess in found if book.is_open(guess.way)), key=lambda guess: -guess.weight)


def _affinity(target: str, item: str) -> float:
    return HALF_LIFE + likeness(target, item)


def _weighted_shapes(target: str, book: Book) -> Mapping[str, float]:
    """The generic shapes, and those of the target's kind as far as they are known."""
    learned = Counter(shape_of(way.pattern) for way in book.by_kind.get(kind(target), ()) if way.pattern)
    weights = dict(SHAPES)
    for shape, times in learned.items():
        weights[shape] = LEARNED * min(3, times)
    return weights


def _grids(
    target: str, ranked: Sequence[str], shapes: Mapping[str, float], stock: Mapping[str, int], seed: int
) -> Iterator[Guess]:
    by_letters: dict[int, list[tuple[str, float]]] = {}
    for shape, weight in shapes.items():
        by_letters.setdefault(len(set(shape) - set("-/")), []).append((shape, weight))
    for letters, width in ((1, ITEMS_ALONE), (2, ITEMS_PAIRED), (3, ITEMS_TRIPLED)):
        for items in permutations(ranked[:width], letters):
            fit = 1.0
            for item in items:
                fit *= _affinity(target, item)
            fit **= 1 / letters**0.5
            for shape, weight in by_letters.get(letters, ()):
                pattern = filled(shape, dict(zip("abcdefghi", items, strict=False)))
                if all(item not in stock or stock[item] >= count for item, count in needs(pattern).items()):
                    value = weight * fit * _jitter(seed, pattern)
                    yield Guess(Way(target, 1, pattern=pattern, trust=0.0), value)


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
