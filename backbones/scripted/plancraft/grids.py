"""The 3x3 crafting grid as text: rows of item names, ``-`` where empty, ``/`` between rows.

``"planks planks / - stick"`` is two rows of two. A *pattern* is trimmed to its upper left corner, since
where a recipe lies in the grid does not matter. Patterns are plain strings, so they are hashable, go
into code as they are, and can be read by a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

SIZE = 3
EMPTY = "-"
_PLAIN = re.compile(r"[\w:. /-]+")
CELLS = tuple(f"{row}{column}" for row in "ABC" for column in "123")
"""Slot names of the grid, row by row."""


def pattern_of(grid: Mapping[str, str]) -> str:
    """The pattern of a grid given as slot name -> item."""
    return _pattern(frozenset(grid.items())) if grid else ""


@lru_cache(maxsize=1024)
def _pattern(grid: frozenset[tuple[str, str]]) -> str:
    placed = {("ABC".index(slot[0]), "123".index(slot[1])): item for slot, item in grid}
    rows = sorted({row for row, _ in placed})
    columns = sorted({column for _, column in placed})
    return " / ".join(
        " ".join(placed.get((row, column), EMPTY) for column in range(columns[0], columns[-1] + 1))
        for row in range(rows[0], rows[-1] + 1)
    )


@lru_cache(maxsize=1024)
def cells(pattern: str) -> tuple[tuple[int, int, str], ...]:
    """(row, column, item) of the pattern's filled cells."""
    return tuple(
        (row, column, item)
        for row, line in enumerate(pattern.split("/"))
        for column, item in enumerate(line.split())
        if item != EMPTY
    )


@lru_cache(maxsize=1024)
def needs(pattern: str) -> Counter[str]:
    """How many of each item one craft uses up. Shared: copy before changing."""
    return Counter(item for _, _, item in cells(pattern))


@lru_cache(maxsize=1024)
def placements(pattern: str) -> tuple[dict[str, str], ...]:
    """Slot -> item for each place in the grid where the pattern fits."""
    filled = cells(pattern)
    height = 1 + max((row for row, _, _ in filled), default=0)
    width = 1 + max((column for _, column, _ in filled), default=0)
    return tuple(
        {CELLS[SIZE * (row + down) + column + right]: item for row, column, item in filled}
        for down in range(SIZE - height + 1)
        for right in range(SIZE - width + 1)
    )


@lru_cache(maxsize=1024)
def is_pattern(text: str) -> bool:
    """Whether a text is a trimmed grid of plain item names, as this module writes it."""
    rows = [line.split() for line in text.split("/")]
    if len(rows) > SIZE or any(len(row) > SIZE for row in rows) or not _PLAIN.fullmatch(text):
        return False
    return bool(cells(text)) and pattern_of(placements(text)[0]) == text


@lru_cache(maxsize=1024)
def shape_of(pattern: str) -> str:
    """The pattern with letters for items: ``"xx/-y"``."""
    letters: dict[str, str] = {}
    rows = []
    for line in pattern.split("/"):
        row = [
            EMPTY if c == EMPTY else letters.setdefault(c, "abcdefghi"[len(letters)]) for c in line.split()
        ]
        rows.append("".join(row))
    return "/".join(rows)


def filled(shape: str, items: Mapping[str, str]) -> str:
    """A shape with its letters replaced by items."""
    return " / ".join(" ".join(items.get(letter, EMPTY) for letter in row) for row in shape.split("/"))
