"""The answer to ``search: <item>``: every recipe of an item, with one example of its ingredients.

The package draws the example with the global generator and prints sets in hash order, so its own
answers differ from run to run. Here the draw comes from a generator that is handed in, and sets are
sorted.
"""

from __future__ import annotations

import random

from envs.plancraft.recipes import Recipe, RecipeBook, Shaped, Smelting
from envs.plancraft.slots import SLOT_NAMES

NOT_FOUND = "Could not find a recipe by that name."


def search_reply(book: RecipeBook, item: str, draw: random.Random) -> str:
    """The package's text for an item, or :data:`NOT_FOUND`."""
    recipes = book.recipes(item)
    if not recipes:
        return NOT_FOUND
    entries = [f"recipe {number}:\n{_entry(recipe, draw)}" for number, recipe in enumerate(recipes, start=1)]
    return f"Recipes to craft {item}:\n{''.join(entries)}"


def _entry(recipe: Recipe, draw: random.Random) -> str:
    if isinstance(recipe, Smelting):
        return f"smelt {{{', '.join(map(repr, recipe.ingredients))}}}\n"
    return "".join(f"{item} at {SLOT_NAMES[slot]}\n" for item, slot in _example(recipe, draw))


def _example(recipe: Recipe, draw: random.Random) -> list[tuple[str, int]]:
    """(item, slot) for one way to lay the recipe out on the grid."""
    if isinstance(recipe, Shaped):
        layout = draw.choice(recipe.layouts)
        return [(draw.choice(items), place + 1) for place, items in enumerate(layout) if items]
    assert not isinstance(recipe, Smelting)
    items = draw.choice(recipe.ingredients)
    return list(zip(items, draw.sample(range(1, 10), len(items)), strict=True))
