"""Silent mistakes on purpose: the code runs, but K_o states what was not observed or forgets what was."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from backbones.scripted.alfworld.drafting import Draft, Tables, with_tables
from backbones.scripted.alfworld.facts import Kind
from backbones.scripted.code import Code

OFTEN_SHIFTED = 0.65


def mislead(good: Draft, chance: random.Random) -> Code:
    """The draft with one silent mistake; its own code where none fits."""
    kinds = (_shifted, _forgotten) if chance.random() < OFTEN_SHIFTED else (_forgotten, _shifted)
    wrong = (kind(good) for kind in kinds)
    return next((code for code in wrong if code.text() != good.code.text()), good.code)


def _shifted(good: Draft) -> Code:
    """Tables off by one row: each thing where another was seen; and what works taken for what does not."""
    kinds = good.tables.kinds
    things = [name for name, kind in kinds.items() if kind.seen]
    seen = [kinds[name].seen for name in things]
    moved = dict(zip(things, [*seen[1:], *seen[:1]], strict=True))
    return with_tables(
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
    return with_tables(good, Tables(kinds, good.tables.in_vain and news.in_vain))
