"""What can be crafted and smelted: the package's recipe files, indexed by what lies on the grid.

Of all grids that some recipe accepts, none is accepted by two with different results (tested), so
the order of recipes, which in the package is that of the file system, does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from envs.plancraft import package
from envs.plancraft.package import Stack

Grid = tuple[str | None, ...]
"""The items on the nine slots of the crafting grid, row by row."""
Alternatives = tuple[str, ...]
"""The items that may stand in one place of a recipe, sorted."""
Layout = tuple[Alternatives | None, ...]
"""What must lie on each of the nine slots; None where nothing may."""


class Shaped(NamedTuple):
    """A pattern that may lie anywhere on the grid."""

    result: Stack
    layouts: tuple[Layout, ...]
    """One per position of the pattern."""


class Shapeless(NamedTuple):
    """Ingredients in any slots, one item each."""

    result: Stack
    ingredients: tuple[tuple[str, ...], ...]
    """All sets of ingredients that do; each sorted."""


class Smelting(NamedTuple):
    """One item becomes one other in the furnace."""

    result: Stack
    ingredients: Alternatives


Recipe = Shaped | Shapeless | Smelting


class RecipeBook:
    """All recipes, found by grid or by product."""

    def __init__(self, recipes: Iterable[Recipe]) -> None:
        self._by_result: dict[str, list[Recipe]] = defaultdict(list)
        self._shapeless: dict[tuple[str, ...], Stack] = {}
        self._layouts: dict[tuple[tuple[int, ...], str], list[tuple[Layout, Stack]]] = defaultdict(list)
        self._smelting: dict[str, str] = {}
        for recipe in recipes:
            self._by_result[recipe.result.item].append(recipe)
            self._index(recipe)

    def crafted(self, grid: Grid) -> Stack | None:
        """What the grid makes, or None. Every item on the grid is then used up by one."""
        places = tuple(place for place, item in enumerate(grid) if item is not None)
        if not places:
            return None
        items = [item for item in grid if item is not None]
        for layout, result in self._layouts.get((places, items[0]), ()):
            if all(item in (layout[place] or ()) for place, item in zip(places, items, strict=True)):
                return result
        return self._shapeless.get(tuple(sorted(items)))

    def smelted(self, item: str) -> str | None:
        """What the furnace makes of an item, one for one, or None."""
        return self._smelting.get(item)

    def recipes(self, item: str) -> Sequence[Recipe]:
        """The recipes that make an item; empty when it cannot be made."""
        return self._by_result.get(item, [])

    def products(self) -> Iterator[str]:
        """Everything that can be made."""
        return iter(self._by_result)

    def _index(self, recipe: Recipe) -> None:
        if isinstance(recipe, Smelting):
            self._smelting.update(dict.fromkeys(recipe.ingredients, recipe.result.item))
        elif isinstance(recipe, Shapeless):
            self._shapeless.update(dict.fromkeys(recipe.ingredients, recipe.result))
        else:
            for layout in recipe.layouts:
                places = tuple(place for place, wanted in enumerate(layout) if wanted)
                for item in layout[places[0]] or ():
                    self._layouts[places, item].append((layout, recipe.result))


@cache
def recipe_book() -> RecipeBook:
    """The package's recipes; read once per process."""
    return RecipeBook(recipe for entry in package.recipe_files() if (recipe := read_recipe(entry)))


def read_recipe(entry: Mapping[str, Any]) -> Recipe | None:
    """A recipe from the game's own JSON, or None for kinds that PlanCraft leaves out."""
    match entry["type"]:
        case "minecraft:crafting_shaped":
            return Shaped(_result(entry), tuple(_layouts(entry["pattern"], entry["key"])))
        case "minecraft:crafting_shapeless":
            sets = product(*(_alternatives(part) for part in entry["ingredients"]))
            return Shapeless(_result(entry), tuple(dict.fromkeys(tuple(sorted(items)) for items in sets)))
        case "minecraft:smelting":
            return Smelting(Stack(_bare(entry["result"]), 1), _alternatives(entry["ingredient"]))
        case _:
            return None


def _result(entry: Mapping[str, Any]) -> Stack:
    return Stack(_bare(entry["result"]["item"]), entry["result"].get("count", 1))


def _layouts(pattern: Sequence[str], key: Mapping[str, Any]) -> Iterator[Layout]:
    wanted = {symbol: _alternatives(part) for symbol, part in key.items()}
    height, width = len(pattern), len(pattern[0])
    for top, left in product(range(4 - height), range(4 - width)):
        cells: list[Alternatives | None] = [None] * 9
        for row, column in product(range(height), range(width)):
            cells[(top + row) * 3 + left + column] = wanted.get(pattern[row][column])
        yield tuple(cells)


def _alternatives(part: Any) -> Alternatives:
    return tuple(sorted(set(_items(part))))


def _items(part: Any) -> Iterator[str]:
    """Every item that a part of a recipe file stands for: a name, a ``#tag``, a table or a list."""
    if isinstance(part, list):
        for member in part:
            yield from _items(member)
    elif isinstance(part, dict):
        yield from _items(part["item"] if "item" in part else f"#{part['tag']}")
    elif part.startswith("#"):
        yield from _items(list(package.tags()[_bare(part[1:])]))
    else:
        yield _bare(part)


def _bare(name: str) -> str:
    return name.removeprefix("minecraft:")
