"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from backbones.scripted.alfworld.drafting import Draft, Tables, rendered
from backbones.scripted.alfworld.facts import Kind
from backbones.scripted.code import Code
from backbones.scripted.misleading import misled, shift, with_right_checks


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    return misled(good.code, partial(_shifted, good), partial(_forgotten, good), chance)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each thing where another was seen; and what works taken for what does not."""
    kinds = good.tables.kinds
    moved = shift({name: kind.seen for name, kind in kinds.items() if kind.seen})
    return _with_tables(
        good,
        Tables(
            {name: _swapped(kind, moved.get(name, {})) for name, kind in kinds.items()}, good.tables.in_vain
        ),
    )


def _swapped(kind: Kind, seen: Mapping[str, int]) -> Kind:
    return replace(kind, seen=seen, treats=kind.fails, fails=kind.treats)


def _forgotten(good: Draft) -> Code:
    """Definitions written anew from this episode alone: what was in them before is lost."""
    news = good.news
    kinds = {name: news.of(name) for name in good.tables.kinds}
    return _with_tables(good, Tables(kinds, good.tables.in_vain and news.in_vain))


def _with_tables(good: Draft, tables: Tables) -> Code:
    return with_right_checks(rendered(good.lesson, tables).code, good.code)
