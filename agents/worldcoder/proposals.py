"""Short plans from the backbone, and the one that the program foresees most of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.acting import dialogue
from agents.buffer import ACTION_CHARS, cut
from agents.parsing import UnreadableReply, clean_action, parse_json
from agents.prompts import fill
from agents.protocol import Decision, View
from agents.worldcoder.scoring import PROMPTS, Rollout
from agents.worldcoder.settings import WorldcoderSettings
from ocm.types import Message, Reply, TurnKind

THOUGHT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Proposal:
    """The backbone's thought, and its plans in its own order."""

    thought: str
    plans: tuple[tuple[str, ...], ...]


def schema() -> Mapping[str, Any]:
    """JSON schema of a proposal."""
    plan = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {"thought": {"type": "string"}, "plans": {"type": "array", "items": plan}},
        "required": ["thought", "plans"],
        "additionalProperties": False,
    }


def question(view: View, settings: WorldcoderSettings) -> tuple[Message, ...]:
    """The dialogue so far, and the request for plans at its end."""
    *before, last = dialogue(view, "")
    request = fill(PROMPTS, "propose", plans=settings.plans, length=settings.plan_length)
    return (*before, replace(last, content=f"{last.content}\n\n{request}"))


def read(reply: Reply, settings: WorldcoderSettings) -> Proposal:
    """The plans in a reply, those too many and their ends too long left out.

    Raises:
        UnreadableReply: there is none.
    """
    found = parse_json(reply.text, reply.finish_reason)
    listed = found.get("plans")
    plans = [_plan(one) for one in listed] if isinstance(listed, list) else []
    distinct = dict.fromkeys(plan[: settings.plan_length] for plan in plans if plan)
    if not distinct:
        raise UnreadableReply("the reply holds no plan")
    thought = found.get("thought")
    text = cut(" ".join(thought.split()), THOUGHT_CHARS) if isinstance(thought, str) else ""
    return Proposal(text, tuple(distinct)[: settings.plans])


def _plan(value: Any) -> tuple[str, ...]:
    """A plan ends where something is no action."""
    actions: list[str] = []
    for one in [value] if isinstance(value, str) else value if isinstance(value, list) else []:
        action = _action(one) if isinstance(one, str) else ""
        if not action:
            break
        actions.append(action)
    return tuple(actions)


def _action(text: str) -> str:
    """On one line and without its label, as :func:`agents.parsing.parse_turn` reads an action."""
    return cut(clean_action(" ".join(text.split()).removeprefix("Action:")), ACTION_CHARS)


def best(foreseen: Sequence[Rollout]) -> int | None:
    """The plan with the highest predicted return, then the longest valid beginning, then the first.

    None where the program foresees no valid first action.
    """
    usable = [index for index, one in enumerate(foreseen) if one.valid > 0]
    return max(usable, key=lambda index: (foreseen[index].gain, foreseen[index].valid, -index), default=None)


def decision(reply: Reply, proposal: Proposal, chosen: int, foreseen: Rollout) -> Decision:
    """The first action of the chosen plan, said as all methods say it."""
    plan = proposal.plans[chosen]
    gain = f"a reward of {foreseen.gain:g}" if foreseen.gain else "no reward yet"
    model = f"Of {len(proposal.plans)} plans my model prefers plan {chosen + 1} ({len(plan)} actions): "
    model += f"it foresees {foreseen.valid} valid and {gain}."
    thought = f"{proposal.thought} {model}".strip()
    said = f"{thought}\n\nAction: {plan[0]}"
    return Decision(TurnKind.ACTION, thought, plan[0], reply.text, said)
