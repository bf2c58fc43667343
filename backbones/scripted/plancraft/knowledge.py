"""From facts to Python source: the object model K_o and the procedures K_p that the stand-in writes.

K_o has a small core (`CORE`), one class per kind of product with its observed recipes, and two tables
on smelting. What one episode teaches touches few definitions. A procedure exercises one observation.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Mapping

from backbones.scripted.names import kind
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import needs

ENOUGH_FOR_A_KIND = 4
"""Items of one kind without effect after which the whole kind is assumed to be unsmeltable."""
_NAMED = 3

CORE: Mapping[str, str] = {
    "trimmed": '''def trimmed(grid):
    """The grid moved to its upper left corner: where a recipe lies in the grid does not matter."""
    rows = [row.split() for row in grid.split("/")]
    while rows and set(rows[0]) <= {"-"}:
        rows.pop(0)
    while rows and set(rows[-1]) <= {"-"}:
        rows.pop()
    while rows and all(row[:1] in (["-"], []) for row in rows) and any(rows):
        rows = [row[1:] for row in rows]
    return " / ".join(" ".join(row) for row in rows)
''',
    "Kind": '''class Kind:
    """Things whose names end alike. A grid is rows of items: `-` is empty, `/` begins the next row."""

    # grid -> (product, count), as seen
    recipes = {}

    @classmethod
    def craft(cls, grid):
        """What the grid was seen to give, or None."""
        return cls.recipes.get(trimmed(grid))

    @classmethod
    def like(cls, known, new):
        """Grids that may give a thing named with `new` in place of `known` (assumed)."""
        return [grid.replace(known, new) for grid, made in cls.recipes.items() if known in made[0]]
''',
    "smelt": '''def smelt(item):
    """What smelting the item was seen to give, or None."""
    return SMELTS.get(item)
''',
    "smeltable": '''def smeltable(item):
    """False where smelting had no effect, on it or on its kind; None where nothing is known."""
    if item in SMELTS:
        return True
    return False if item in UNSMELTABLE or "*_" + item.split("_")[-1] in UNSMELTABLE else None
''',
}
RESERVED = frozenset({"Kind", "Recipe", "Grid", *dir(builtins)})


def class_name(word: str) -> str:
    """The class of a kind of things."""
    name = word.capitalize()
    return name if name.isidentifier() and name not in RESERVED else f"Thing{name}"


def kind_class(word: str, recipes: Mapping[str, Made]) -> str:
    """The class of a kind with its observed recipes."""
    return (
        f"class {class_name(word)}(Kind):\n"
        f'    """Makes {_some(made.item for made in recipes.values())}."""\n\n'
        f"    recipes = {{\n{_recipe_lines(recipes, 8)}    }}\n"
    )


def kind_procedure(word: str, recipes: Mapping[str, Made]) -> str:
    """A procedure that stands alone: a kind's recipes, where there is no K_o."""
    checks = "".join(
        f'assert craft("{grid}") == ("{made.item}", {made.amount})\n' for grid, made in recipes.items()
    )
    return (
        f'"""Craft {_some(made.item for made in recipes.values())}."""\n\n'
        f"recipes = {{\n{_recipe_lines(recipes, 4)}}}\n\n\n"
        f'def craft(grid):\n    """What the grid gives."""\n    return recipes.get(grid)\n\n\n{checks}'
    )


def smelting_tables(facts: Facts) -> dict[str, str]:
    """The two tables on smelting."""
    smelts = "".join(f'    "{item}": "{made}",\n' for item, made in sorted(facts.smelts.items()))
    inert = "".join(f'    "{item}",\n' for item in sorted(by_kinds(facts)))
    return {"SMELTS": f"SMELTS = {{\n{smelts}}}\n", "UNSMELTABLE": f"UNSMELTABLE = (\n{inert})\n"}


def smelting_procedure(facts: Facts) -> str:
    """A procedure that stands alone: all that is known of smelting, where there is no K_o."""
    tables = smelting_tables(facts)
    checks = "".join(f'assert smelt("{item}") == "{made}"\n' for item, made in sorted(facts.smelts.items()))
    return (
        f'"""Smelt: what has an effect, and what has none."""\n\n'
        f"{tables['SMELTS']}\n{tables['UNSMELTABLE']}\n\n"
        f'def smelt(item):\n    """What smelting gives, or None."""\n    return SMELTS.get(item)\n\n\n'
        f"{checks}"
    )


def craft_procedure(grid: str, made: Made) -> str:
    """A procedure that exercises one observed recipe."""
    name = class_name(kind(made.item))
    parts = ", ".join(f"{count} {item}" for item, count in needs(grid).items())
    return (
        f'"""Craft {made.item} from {parts}."""\n\nfrom objects import {name}\n\n'
        f"# Seen: with this grid, [0] holds the product; taking it uses up one item of each cell.\n"
        f'assert {name}.craft("{grid}") == ("{made.item}", {made.amount})\n'
    )


def smelt_procedure(item: str, made: str) -> str:
    """A procedure that exercises one observed smelt."""
    return (
        f'"""Smelt {item} into {made}."""\n\nfrom objects import smelt, smeltable\n\n'
        f'assert smelt("{item}") == "{made}"\nassert smeltable("{item}")\n'
    )


def by_kinds(facts: Facts) -> set[str]:
    """Unsmeltable items, with whole kinds in place of many of one kind, as an assumption."""
    tally = Counter(kind(item) for item in facts.unsmeltable if not item.startswith("*_"))
    smelted = {kind(item) for item in facts.smelts}
    kinds = {
        f"*_{word}" for word, count in tally.items() if count >= ENOUGH_FOR_A_KIND and word not in smelted
    }
    kinds |= {item for item in facts.unsmeltable if item.startswith("*_") and item[2:] not in smelted}
    return kinds | {item for item in facts.unsmeltable if f"*_{kind(item)}" not in kinds and item[:2] != "*_"}


def _recipe_lines(recipes: Mapping[str, Made], indent: int) -> str:
    return "".join(
        f'{" " * indent}"{grid}": ("{made.item}", {made.amount}),\n' for grid, made in recipes.items()
    )


def _some(items: Iterable[str]) -> str:
    """A few names, and how many more there are."""
    names = list(dict.fromkeys(items))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
