"""ExpeL: votes on insights. What an episode shows is agreed with where it is listed, else it is added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.players import player_of
from backbones.scripted.report import read_report
from ocm.types import Message, Request

_LISTED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_MOST = re.compile(r"at most (\d+) in all")
_TASK, _KNOWN = "\n# Task\n", "\n# What is known\n"
_FULL = "The list is full"
_AGREED = 2
"""Agreements of one reply, so that there is room for what is new."""
NO_CHANGES = "NO CHANGES"


def _vote(request: Request, error_rate: float) -> str:
    system, user = request.messages[0].content, request.messages[1].content
    episodes, _, known = f"\n{user}".rpartition(_KNOWN)
    listed = {text: int(number) for number, text in _LISTED.findall(known)}
    told = list(dict.fromkeys(_told(request.messages[0], episodes)))
    agreed = [f"AGREE {listed[one]}: {one}" for one in told if one in listed][:_AGREED]
    fresh = [one for one in told if one not in listed]
    if _FULL in system:
        news = [f"REMOVE {number}: {text}" for text, number in list(listed.items())[-1:] if text not in told]
    else:
        news = [f"ADD {len(listed) + place}: {one}" for place, one in enumerate(fresh, start=1)]
    found = _MOST.search(system)
    return "\n".join((agreed + news)[: int(found[1]) if found else 1]) or NO_CHANGES


def _told(system: Message, episodes: str) -> Iterator[str]:
    """What the successes show in turns, so that each is heard: the first of each, then the second, …"""
    parts = episodes.split(_TASK)[1:]
    sentences = [_sentences((system, Message("user", f"{_TASK}{part}"))) for part in parts]
    for place in range(max(map(len, sentences), default=0)):
        yield from (told[place] for told in sentences if place < len(told))


def _sentences(messages: Sequence[Message]) -> tuple[str, ...]:
    report = read_report(messages)
    player = player_of(report.opening)
    return player.tell(report) if player else ()


ANSWERS = (
    Answer(opens("You compare a failed and a successful episode"), _vote),
    Answer(opens("You look at several successful episodes"), _vote),
)
