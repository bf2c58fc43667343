"""Facts in words: what a text memory says of crafting and smelting, and how it is read again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import is_pattern

_CRAFT = re.compile(r"[Tt]he grid '([^'\n]+)' gives (\d+) ([\w:]+)")
_SMELT = re.compile(r"[Ss]melting ([\w:]+) gives ([\w:]+)")
_INERT = re.compile(r"[Ss]melting ((?:\*_)?[\w:]+) has no effect")


def sentences(facts: Facts) -> Iterator[str]:
    """One sentence for each fact, without its full stop."""
    for pattern, made in facts.recipes.items():
        yield f"The grid '{pattern}' gives {made.amount} {made.item}"
    for item, product in sorted(facts.smelts.items()):
        yield f"Smelting {item} gives {product}"
    for item in sorted(facts.unsmeltable):
        yield f"Smelting {item} has no effect"


@lru_cache(maxsize=256)
def stated_in(text: str) -> Facts:
    """The facts that the sentences of a text state."""
    recipes = {
        pattern: Made(item, int(amount))
        for pattern, amount, item in _CRAFT.findall(text)
        if is_pattern(pattern) and int(amount) > 0
    }
    return Facts(recipes, dict(_SMELT.findall(text)), frozenset(_INERT.findall(text)))
