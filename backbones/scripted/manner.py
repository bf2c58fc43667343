"""How a reply is written: mostly in the form asked for, now and then as untidily as models write."""

from __future__ import annotations

import random

from backbones.scripted.player import Move

UNTIDY = 0.12
"""Share of replies in another form that can still be read."""
UNREADABLE = 0.01
"""Share of replies without any action."""


def written(move: Move, generator: random.Random) -> str:
    """The reply's text."""
    if generator.random() < UNREADABLE:
        return f"{move.thought} I will go on with that and see what the environment answers."
    line = move.text if move.text.startswith("Inspect[") else f"Action: {move.text}"
    if move.text.startswith("Inspect[") or generator.random() >= UNTIDY:
        return f"{move.thought}\n\n{line}"
    return generator.choice(_FORMS)(move.thought, move.text)


def _bold(thought: str, action: str) -> str:
    return f"**Thought:** {thought}\n\n**Action:** {action}"


def _fenced(thought: str, action: str) -> str:
    return f"{thought}\n\nAction:\n```\n{action}\n```"


def _shouted(thought: str, action: str) -> str:
    return f"Thought: {thought}\nACTION: `{action}`"


def _imagined(thought: str, action: str) -> str:
    return f"{thought}\n\nAction: {action}\nObservation: it worked.\nAction: {action}"


def _thinking(thought: str, action: str) -> str:
    return f"<think>{thought} Action: wait, let me check that first.</think>\nAction: {action}."


_FORMS = (_bold, _fenced, _shouted, _imagined, _thinking)
