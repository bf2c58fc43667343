"""One acting turn and the dialogue it stands in: the same code for every method.

The dialogue is ReAct's (arXiv 2210.03629) without demonstrations: thought and action in one reply.
A method adds its memory at the end of the system prompt, where it is stable within an episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.parsing import ParsedTurn, parse_turn, strip_thinking
from agents.prompts import SHARED, fill
from agents.protocol import Bench, Decision, View
from ocm.types import Exchange, Message, TurnKind

MALFORMED_EXCERPT = 200
"""Characters of an unusable reply that are recorded as the action of a malformed step."""
MALFORMED_SAID = 2_000
"""Characters of an unusable reply that stay in the dialogue."""
WHOLE_OBSERVATION = 50_000
"""Characters shown of one observation: far more than an honest one has, far less than a context holds."""
INNER_OBSERVATION = 300
"""Characters shown of what a program observed on its way."""


async def take_turn(
    view: View, bench: Bench, memory_text: str = "", no_inspect: str = "there is nothing to inspect"
) -> Decision:
    """Ask the backbone for one turn and read its reply.

    Args:
        view: what happened so far in the episode.
        bench: where the call is made and recorded.
        memory_text: the method's memory as it stands in the system prompt, or nothing.
        no_inspect: why an inspect request is malformed now; empty when it is welcome.
    """
    purpose = "act_correction" if view.correcting else "act"
    reply = await bench.complete(purpose, dialogue(view, memory_text))
    turn = parse_turn(reply.text, reply.finish_reason)
    if turn.kind is TurnKind.INSPECT and no_inspect:
        turn = replace(turn, kind=TurnKind.MALFORMED, content=no_inspect)
    return Decision(
        kind=turn.kind,
        thought=turn.thought,
        content=turn.content,
        reply=reply.text,
        said=said(turn, reply.text),
    )


def dialogue(view: View, memory_text: str, reply_form: str = "") -> tuple[Message, ...]:
    """The messages of one acting call: system prompt, goal and o0, then the transcript.

    Args:
        view: what happened so far in the episode.
        memory_text: the method's memory, or nothing.
        reply_form: how to reply, for a method that acts otherwise than by one action at a time.
    """
    system = fill(
        SHARED,
        "act_system",
        step_limit=view.step_limit,
        rules=view.rules.strip(),
        reply=(reply_form or fill(SHARED, "act_reply")).strip(),
        memory=memory_text,
    )
    first = _cut(view.observation.text, WHOLE_OBSERVATION)
    goal = fill(SHARED, "act_goal", goal=view.observation.goal, observation=first)
    return (Message("system", system.rstrip()), Message("user", goal), *view.transcript)


def observed(observation: str, step: int, step_limit: int) -> Message:
    """The message that tells what the environment answered to the step of this 1-based index."""
    shown = _cut(observation, WHOLE_OBSERVATION)
    text = fill(SHARED, "act_observation", step=step, step_limit=step_limit, observation=shown)
    return Message("user", text)


def program_report(taken: Sequence[Exchange], ending: str = "") -> str:
    """What a program did and saw; the last observation whole, those before it cut short.

    Args:
        taken: its actions and their observations.
        ending: how it ended, where that is more than the end of its text.
    """
    last = len(taken) - 1
    lines = [
        f"> {one.action}\n{one.observation if number == last else _cut(one.observation, INNER_OBSERVATION)}"
        for number, one in enumerate(taken)
    ]
    return "\n".join([*lines, *([ending] if ending else [])])


def _cut(observation: str, limit: int) -> str:
    return observation if len(observation) <= limit else f"{observation[:limit]}…"


def correction(reason: str) -> Message:
    """The one short corrective message after a malformed reply."""
    return Message("user", fill(SHARED, "act_correction", reason=reason))


def malformed_observation() -> str:
    """What stands as observation of a step that was used up by a malformed turn."""
    return fill(SHARED, "malformed_observation")


def said(turn: ParsedTurn, reply: str) -> str:
    """What stands in the dialogue for a reply: without thinking, and without what came after."""
    if turn.kind is TurnKind.MALFORMED:
        return strip_thinking(reply)[:MALFORMED_SAID] or "(no answer)"
    line = f"Inspect[{turn.content}]" if turn.kind is TurnKind.INSPECT else f"Action: {turn.content}"
    return f"{turn.thought}\n\n{line}" if turn.thought else line
