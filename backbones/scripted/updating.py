"""The code reply: definitions for K_o and files of K_p, sometimes broken on purpose, and their repair."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from backbones.scripted import mistakes
from backbones.scripted.drafting import Draft, draft
from backbones.scripted.lessons import lesson_in, sections
from ocm.types import Message

_REPORTED = re.compile(r"^### ([\w./-]+\.py) \(", re.MULTILINE)
_REPAIR = "The update was not committed"
FAILS_AGAIN = 0.25
"""Share of repairs that change nothing."""


def update(messages: Sequence[Message], error_rate: float, seed: int) -> str:
    """The reply to an update prompt or to a request for repair."""
    parts = sections(messages[1].content)
    lesson = lesson_in(messages[0].content, parts)
    good = draft(lesson, parts.get("Source that you asked for", ""))
    chance = random.Random(seed)
    flawed = chance.random() < error_rate
    written = mistakes.make(good, chance) if flawed else good
    for request in messages[2:]:
        if request.role == "user" and request.content.startswith(_REPAIR) and chance.random() >= FAILS_AGAIN:
            written = _repaired(good, written, request.content)
    return written.text()


def _repaired(good: Draft, written: Draft, reports: str) -> Draft:
    """What should have been written; if it was, less the files that fail all the same."""
    if written.text() != good.text():
        return good
    doomed = {path for path in _REPORTED.findall(reports) if path != "objects.py"}
    procedures = {path: text for path, text in good.procedures.items() if path not in doomed}
    return replace(good, procedures=procedures, deleted=tuple(sorted(doomed)))
