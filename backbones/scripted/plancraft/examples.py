"""Past episodes that stand whole in a memory: what they show is known as if it had been seen now."""

from __future__ import annotations

import re
from functools import lru_cache, reduce

from backbones.scripted.plancraft.facts import Facts, together
from backbones.scripted.plancraft.lessons import lesson_in
from backbones.scripted.report import read_report
from ocm.types import Message

_EXAMPLE = re.compile(r"^## (?P<goal>.+)\n(?P<episode>\[0\] (?:(?!#+ ).*\n?)*)", re.MULTILINE)


@lru_cache(maxsize=256)
def shown_in(text: str) -> Facts:
    """The facts that the episodes of a text show: a heading with the goal, then numbered entries."""
    return reduce(together, (_facts(**found.groupdict()) for found in _EXAMPLE.finditer(text)), Facts())


def _facts(goal: str, episode: str) -> Facts:
    prompt = f"# Task\n{goal}\n\n# Episode\n{episode}"
    return lesson_in(read_report((Message("system", ""), Message("user", prompt)))).facts
