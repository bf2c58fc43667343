"""Mistakes on purpose, as models make them, so that verification has something to find.

Most are seen by executing the code. The misleading ones run: they are found only where a procedure
asserts the observation, and harm later episodes where nobody verifies.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from backbones.scripted.code import Code
from backbones.scripted.player import Player
from backbones.scripted.report import Report

Mistake = Callable[[Player, Report, Code, random.Random], Code]


def make(player: Player, report: Report, good: Code, chance: random.Random) -> Code:
    """The code with one mistake; the same code where no mistake fits."""
    mistakes = list(_WEIGHTS)
    while mistakes:
        mistake = chance.choices(mistakes, [_WEIGHTS[one] for one in mistakes])[0]
        bad = mistake(player, report, good, chance)
        if bad.text() != good.text():
            return bad
        mistakes.remove(mistake)
    return good


def _misleading(player: Player, report: Report, good: Code, chance: random.Random) -> Code:
    return player.mislead(report, good, chance)


def _one_file(change: Callable[[str], str]) -> Mistake:
    def mistake(player: Player, report: Report, good: Code, chance: random.Random) -> Code:
        if not good.procedures:
            return good
        path = chance.choice(sorted(good.procedures))
        return replace(good, procedures={**good.procedures, path: change(good.procedures[path])})

    return mistake


_WEIGHTS: Mapping[Mistake, float] = {
    _misleading: 0.55,
    _one_file(lambda text: re.sub(r"\bassert \w+(\.\w+)?\(", "assert recall(", text)): 0.12,  # unknown name
    _one_file(lambda text: text.replace("from objects import", "# from objects import")): 0.12,
    _one_file(lambda text: text.replace(") ==", " ==", 1)): 0.1,  # does not parse
    _one_file(lambda text: re.sub(r"from objects.*|assert .*", "print('done')", text)): 0.08,  # K_o unused
    _one_file(lambda text: f"{text}\nwhile True:\n    pass\n"): 0.03,
}
