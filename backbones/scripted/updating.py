"""The code reply: definitions for K_o and files of K_p, sometimes broken on purpose, and their repair."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from backbones.scripted import mistakes
from backbones.scripted.code import Code
from backbones.scripted.player import Player
from backbones.scripted.report import Report
from ocm.types import Message

_REPORTED = re.compile(r"^### ([\w./-]+\.py) \(", re.MULTILINE)
_REPAIR = "The update was not committed"
FAILS_AGAIN = 0.25
"""Share of repairs that change nothing."""


def update(
    player: Player, report: Report, later: Sequence[Message], error_rate: float, chance: random.Random
) -> Code:
    """The answer to an update prompt; ``later`` holds its own replies and the requests for repair."""
    good = player.write(report)
    written = mistakes.make(player, report, good, chance) if chance.random() < error_rate else good
    for request in later:
        if request.role == "user" and request.content.startswith(_REPAIR) and chance.random() >= FAILS_AGAIN:
            written = _repaired(good, written, request.content)
    return written


def _repaired(good: Code, written: Code, reports: str) -> Code:
    """What should have been written; if it was, less the files that fail all the same."""
    if written.text() != good.text():
        return good
    doomed = {path for path in _REPORTED.findall(reports) if path != "objects.py"}
    procedures = {path: text for path, text in good.procedures.items() if path not in doomed}
    return replace(good, procedures=procedures, deleted=tuple(sorted(doomed)))
