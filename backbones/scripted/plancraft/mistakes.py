"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from backbones.scripted.code import Code
from backbones.scripted.plancraft.drafting import Draft, Tables, rendered
from backbones.scripted.plancraft.facts import Made

V = TypeVar("V")
OFTEN_SHIFTED = 0.65


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    kinds = (_shifted, _forgotten) if chance.random() < OFTEN_SHIFTED else (_forgotten, _shifted)
    wrong = (kind(good) for kind in kinds)
    return next((code for code in wrong if code.text() != good.code.text()), good.code)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each grid with its neighbour's product."""
    tables = good.tables
    kinds = {word: _shift_recipes(recipes) for word, recipes in tables.kinds.items()}
    smelting = tables.smelting and replace(tables.smelting, smelts=_shift(tables.smelting.smelts))
    return _with_tables(good, Tables(kinds, smelting))


def _shift_recipes(recipes: Mapping[str, Made]) -> dict[str, Made]:
    if len(recipes) > 1:
        return _shift(recipes)
    return {f"{grid} / {grid.split(' / ')[-1]}": made for grid, made in recipes.items()}


def _shift(table: Mapping[str, V]) -> dict[str, V]:
    values = list(table.values())
    return dict(zip(table, [*values[1:], *values[:1]], strict=True))


def _forgotten(good: Draft) -> Code:
    """Definitions written anew from this episode alone: what was in them before is lost."""
    news = good.news
    kinds = {
        word: {grid: made for grid, made in recipes.items() if grid in news.recipes} or recipes
        for word, recipes in good.tables.kinds.items()
    }
    return _with_tables(good, Tables(kinds, good.tables.smelting and news))


def _with_tables(good: Draft, tables: Tables) -> Code:
    """Wrong tables beside right procedures; where there is no K_o, the assertions are of before."""
    right, wrong = good.code, rendered(good.lesson, tables).code
    if right.objects:
        return replace(wrong, procedures=right.procedures)
    kept = {
        path: _keep_checks(text, right.procedures.get(path, "")) for path, text in wrong.procedures.items()
    }
    return replace(wrong, procedures=kept)


def _keep_checks(bad: str, good: str) -> str:
    return bad[: bad.find("\nassert")] + good[good.find("\nassert") :] if "\nassert" in good else bad
