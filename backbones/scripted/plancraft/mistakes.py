"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from backbones.scripted.code import Code
from backbones.scripted.misleading import misled, shift, with_right_checks
from backbones.scripted.plancraft.drafting import Draft, Tables, rendered
from backbones.scripted.plancraft.facts import Made


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    return misled(good.code, partial(_shifted, good), partial(_forgotten, good), chance)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each grid with its neighbour's product."""
    tables = good.tables
    kinds = {word: _shift_recipes(recipes) for word, recipes in tables.kinds.items()}
    smelting = tables.smelting and replace(tables.smelting, smelts=shift(tables.smelting.smelts))
    return _with_tables(good, Tables(kinds, smelting))


def _shift_recipes(recipes: Mapping[str, Made]) -> dict[str, Made]:
    if len(recipes) > 1:
        return shift(recipes)
    return {f"{grid} / {grid.split(' / ')[-1]}": made for grid, made in recipes.items()}


def _forgotten(good: Draft) -> Code:
    """Definitions written anew from this episode alone: what was in them before is lost."""
    news = good.news
    kinds = {
        word: {grid: made for grid, made in recipes.items() if grid in news.recipes} or recipes
        for word, recipes in good.tables.kinds.items()
    }
    return _with_tables(good, Tables(kinds, good.tables.smelting and news))


def _with_tables(good: Draft, tables: Tables) -> Code:
    return with_right_checks(rendered(good.lesson, tables).code, good.code)
