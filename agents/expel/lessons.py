"""What is asked of the model after an episode: operations on the insights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.asking import ask
from agents.expel.experience import Past
from agents.expel.insights import Insight, Operation, numbered, parse_operations
from agents.expel.settings import ExpelSettings
from agents.prompts import fill
from agents.protocol import Bench
from ocm.types import Message

PROMPTS = "agents.expel.prompts"


async def operations(
    shown: Sequence[Past],
    texts: Mapping[str, str],
    insights: Sequence[Insight],
    settings: ExpelSettings,
    bench: Bench,
) -> tuple[Operation, ...]:
    """Ask what these episodes change in the insights.

    Args:
        shown: a failure and the success of a similar task, in this order; or successes.
        texts: path -> rendered episode, of those shown at least.
        insights: as they are numbered in the prompt.

    Raises:
        UnreadableReply: two replies in a row held no operation.
    """
    purpose = "critique" if shown[0].success else "compare"
    system = fill(
        PROMPTS,
        "critique_system" if purpose == "critique" else "compare_system",
        operations=fill(PROMPTS, "operations", most=settings.max_operations),
        full=fill(PROMPTS, "full") if len(insights) >= settings.max_rules else "",
    )
    episodes = [fill(PROMPTS, _form(one), **_parts(one, texts)) for one in shown]
    known = fill(PROMPTS, "known", insights=numbered(insights) or "Nothing yet.")
    messages = (Message("system", system.rstrip()), Message("user", "\n\n".join((*episodes, known))))
    read, _ = await ask(
        bench,
        purpose,
        messages,
        lambda reply: parse_operations(reply.text, reply.finish_reason, settings.max_operations),
        temperature=0.0,
    )
    return read


def _form(past: Past) -> str:
    return "episode" if past.success else "failed_episode"


def _parts(past: Past, texts: Mapping[str, str]) -> dict[str, str]:
    return {"goal": past.goal, "outcome": past.outcome, "episode": texts[past.path]}
