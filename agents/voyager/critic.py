"""Self-criticism between two programs: what is missing, judged from the last observation alone."""

from __future__ import annotations

from agents.asking import ask
from agents.parsing import UnreadableReply, parse_json, read_prose
from agents.prompts import fill
from agents.protocol import Bench, View
from agents.skills.program import ERROR
from ocm.types import Message, Reply, TurnKind

PROMPTS = "agents.voyager.prompts"
CRITIQUE_CHARS = 1_000
SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "success": {"type": "boolean"},
        "critique": {"type": "string"},
    },
    "required": ["reasoning", "success", "critique"],
    "additionalProperties": False,
}


async def critique(view: View, bench: Bench) -> str:
    """What to do better, after a program that ended without an error; empty where there is nothing to say.

    An error speaks for itself, and a critic that cannot be understood is not heard.
    """
    if not view.turns or view.turns[-1].kind is not TurnKind.PROGRAM or ERROR in view.transcript[-1].content:
        return ""
    user = fill(
        PROMPTS, "critic_user", goal=view.observation.goal, observation=view.exchanges[-1].observation
    )
    messages = (Message("system", fill(PROMPTS, "critic_system")), Message("user", user))
    try:
        text, _ = await ask(bench, "critic", messages, _read, SCHEMA)
    except UnreadableReply:
        return ""
    return text


def _read(reply: Reply) -> str:
    found = parse_json(reply.text, reply.finish_reason)
    success, text = found.get("success"), found.get("critique")
    if not isinstance(success, bool) or not isinstance(text, str):
        raise UnreadableReply("`success` is true or false, and `critique` is a text")
    return read_prose(text)[:CRITIQUE_CHARS] if text.strip() and not success else ""
