"""Reflexion: a lesson in prose on a failed episode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.players import player_of
from backbones.scripted.report import Report, read_report
from ocm.types import Request

WORDS = 110
"""A few less than what is kept of a lesson."""
_TO_THE_END = "The mistake was to go on with what led nowhere until the episode ended."
_INSTEAD = (
    "Begin with what is known to work, and try new things only after it. In other tasks this holds too:"
)


def _reflect(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    player = player_of(report.opening)
    if player is None:
        return ""
    news = (sentence for sentence in player.tell(report) if sentence not in report.known)
    return " ".join(_within(WORDS, (_mistake(report), _INSTEAD, *news)))


def _mistake(report: Report) -> str:
    """The first action in vain, or that there was none."""
    in_vain = next((line.action for line in report.lines if not line.valid and line.action), "")
    return f"The first mistake was the action `{in_vain}`: nothing came of it." if in_vain else _TO_THE_END


def _within(words: int, sentences: Iterable[str]) -> Iterator[str]:
    """The first sentences of so many words."""
    for sentence in sentences:
        words -= len(sentence.split())
        if words < 0:
            return
        yield sentence


ANSWERS = (Answer(opens("You look back on a failed episode"), _reflect),)
