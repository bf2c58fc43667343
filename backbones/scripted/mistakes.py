"""Mistakes on purpose, as models make them, so that verification has something to find.

The first two are silent: the code runs, but K_o states what was not observed or forgets what was. They
fail only where a procedure asserts the observation, and mislead later episodes where nobody verifies.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from backbones.scripted.drafting import Draft, Tables, rendered
from backbones.scripted.facts import Made

V = TypeVar("V")


def make(good: Draft, chance: random.Random) -> Draft:
    """The draft with one mistake; the same draft where no mistake fits."""
    mistakes = list(_WEIGHTS)
    while mistakes:
        mistake = chance.choices(mistakes, [_WEIGHTS[one] for one in mistakes])[0]
        bad = mistake(good, chance)
        if bad.text() != good.text():
            return bad
        mistakes.remove(mistake)
    return good


def _shifted(good: Draft, chance: random.Random) -> Draft:
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


def _forgotten(good: Draft, chance: random.Random) -> Draft:
    """Definitions written anew from this episode alone: what was in them before is lost."""
    news = good.news
    kinds = {
        word: {grid: made for grid, made in recipes.items() if grid in news.recipes} or recipes
        for word, recipes in good.tables.kinds.items()
    }
    return _with_tables(good, Tables(kinds, good.tables.smelting and news))


def _with_tables(good: Draft, tables: Tables) -> Draft:
    """Wrong tables beside right procedures; where there is no K_o, the assertions are of before."""
    bad = rendered(good.lesson, tables)
    if good.objects:
        return replace(bad, procedures=good.procedures)
    return replace(
        bad,
        procedures={
            path: _keep_checks(text, good.procedures.get(path, "")) for path, text in bad.procedures.items()
        },
    )


def _keep_checks(bad: str, good: str) -> str:
    return bad[: bad.find("\nassert")] + good[good.find("\nassert") :] if "\nassert" in good else bad


def _one_file(change: Callable[[str], str]) -> Callable[[Draft, random.Random], Draft]:
    def mistake(good: Draft, chance: random.Random) -> Draft:
        if not good.procedures:
            return good
        path = chance.choice(sorted(good.procedures))
        return replace(good, procedures={**good.procedures, path: change(good.procedures[path])})

    return mistake


_WEIGHTS: Mapping[Callable[[Draft, random.Random], Draft], float] = {
    _shifted: 0.35,
    _forgotten: 0.2,
    _one_file(lambda text: re.sub(r"\b(\w+)\.craft\(|\bsmelt\(", "craft_item(", text)): 0.12,  # unknown name
    _one_file(lambda text: text.replace("from objects import", "# from objects import")): 0.12,
    _one_file(lambda text: text.replace(") ==", " ==", 1)): 0.1,  # does not parse
    _one_file(lambda text: re.sub(r"from objects.*|assert .*", "print('done')", text)): 0.08,  # K_o unused
    _one_file(lambda text: f"{text}\nwhile True:\n    pass\n"): 0.03,
}
