"""What the players' silent mistakes share: which one is made, and right checks beside wrong tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from backbones.scripted.code import Code

V = TypeVar("V")
OFTEN_SHIFTED = 0.65


def misled(
    good: Code, shifted: Callable[[], Code], forgotten: Callable[[], Code], chance: random.Random
) -> Code:
    """The code with one silent mistake; itself where none fits.

    Args:
        good: what should be written.
        shifted: makes it with tables off by one row.
        forgotten: makes it without what was known before this episode.
        chance: decides which is tried first.
    """
    mistakes = (shifted, forgotten) if chance.random() < OFTEN_SHIFTED else (forgotten, shifted)
    wrong = (mistake() for mistake in mistakes)
    return next((code for code in wrong if code.text() != good.text()), good)


def shift(table: Mapping[str, V]) -> dict[str, V]:
    """The table off by one row: each key with its neighbour's value."""
    values = list(table.values())
    return dict(zip(table, [*values[1:], *values[:1]], strict=True))


def with_right_checks(wrong: Code, right: Code) -> Code:
    """Wrong tables beside right procedures; where there is no K_o, the assertions are the right ones."""
    if right.objects:
        return replace(wrong, procedures=right.procedures)
    files = wrong.procedures.items()
    kept = {path: _keep_checks(text, right.procedures.get(path, "")) for path, text in files}
    return replace(wrong, procedures=kept)


def _keep_checks(bad: str, good: str) -> str:
    return bad[: bad.find("\nassert")] + good[good.find("\nassert") :] if "\nassert" in good else bad
