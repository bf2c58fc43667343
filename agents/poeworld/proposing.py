"""Proposals: several actions in one reply, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agents.buffer import ACTION_CHARS, cut
from agents.parsing import UnreadableReply, clean_action, parse_json, parse_turn
from ocm.types import Reply, TurnKind

THOUGHT_CHARS = 2_000


class Proposals(NamedTuple):
    """What a model would do next, the dearest first; one action at least."""

    thought: str
    actions: tuple[str, ...]


def read_proposals(reply: Reply, most: int) -> Proposals:
    """The proposed actions; a reply in the usual form proposes its one action.

    Raises:
        UnreadableReply: there is none.
    """
    turn = parse_turn(reply.text, reply.finish_reason)
    if turn.kind is TurnKind.ACTION:
        return Proposals(cut(turn.thought, THOUGHT_CHARS), (cut(turn.content, ACTION_CHARS),))
    value = parse_json(reply.text, reply.finish_reason)
    given = value.get("actions")
    actions = [_action(one) for one in given] if isinstance(given, list) else []
    if not any(actions):
        raise UnreadableReply("the JSON object holds no `actions`")
    thought = value.get("thought")
    said = cut(" ".join(thought.split()), THOUGHT_CHARS) if isinstance(thought, str) else ""
    return Proposals(said, tuple(dict.fromkeys(filter(None, actions)))[:most])


def _action(value: object) -> str:
    """An action on one line; empty where it is none."""
    text = value if isinstance(value, str) else ""
    line = cut(clean_action(" ".join(text.removeprefix("Action:").split())), ACTION_CHARS)
    return line if any(map(str.isalnum, line)) else ""


def chosen(values: Sequence[float], margin: float) -> int:
    """The first whose value is within the margin of the best."""
    best = max(values)
    return next(place for place, value in enumerate(values) if value >= best - margin)
