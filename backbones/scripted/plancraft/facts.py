"""What is known of crafting and smelting: observed in an episode or recalled from memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from backbones.scripted.names import kind
from backbones.scripted.plancraft.grids import needs


class Made(NamedTuple):
    """What a grid gives."""

    item: str
    amount: int


class Way(NamedTuple):
    """One way to come by an item: a grid, or an item to smelt."""

    product: str
    amount: int
    pattern: str = ""
    """Empty for smelting."""
    smelted: str = ""
    trust: float = 1.0
    """1 for what was observed or recalled, less for what is only assumed."""

    def ingredients(self) -> Mapping[str, int]:
        return needs(self.pattern) if self.pattern else {self.smelted: 1}


@dataclass(frozen=True)
class Facts:
    """Recipes by pattern, smelts by source, and what smelting has no effect on."""

    recipes: Mapping[str, Made] = field(default_factory=dict)
    smelts: Mapping[str, str] = field(default_factory=dict)
    unsmeltable: frozenset[str] = frozenset()
    """Items; ``*_word`` stands for all items of that kind, as an assumption."""

    @property
    def empty(self) -> bool:
        return not (self.recipes or self.smelts or self.unsmeltable)

    def is_unsmeltable(self, item: str) -> bool:
        return item not in self.smelts and (item in self.unsmeltable or f"*_{kind(item)}" in self.unsmeltable)

    def ways(self) -> Iterable[Way]:
        """Everything that is known to give something."""
        yield from (Way(made.item, made.amount, pattern=pattern) for pattern, made in self.recipes.items())
        yield from (Way(product, 1, smelted=item) for item, product in self.smelts.items())


def together(older: Facts, newer: Facts) -> Facts:
    """Both; where they contradict each other the newer counts."""
    smelts = {item: made for item, made in older.smelts.items() if item not in newer.unsmeltable} | dict(
        newer.smelts
    )
    return Facts(
        {**older.recipes, **newer.recipes},
        smelts,
        (older.unsmeltable | newer.unsmeltable) - smelts.keys(),
    )
