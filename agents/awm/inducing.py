"""The two calls of AWM: new workflows from an episode, and fewer from too many."""

from __future__ import annotations

from collections.abc import Sequence

from agents.asking import ask
from agents.awm.settings import AwmSettings
from agents.awm.workflows import MAX_STEPS, Workflow, in_order_of, newest, read, written
from agents.parsing import CUT_OFF, UnreadableReply, read_prose
from agents.prompts import fill
from agents.protocol import Bench
from agents.rendering import outcome, render, without_invalid_steps
from ocm.types import Message, Reply, Trajectory

PROMPTS = "agents.awm.prompts"
NOTHING_NEW = "no workflows"
CHARS_PER_TOKEN = 4


async def induce(
    trajectory: Trajectory, known: Sequence[Workflow], settings: AwmSettings, bench: Bench
) -> list[Workflow]:
    """New workflows, and known ones written anew; none where the episode shows nothing new.

    Raises:
        UnreadableReply: also the corrected reply holds none.
    """
    user = fill(
        PROMPTS,
        "induce_user",
        goal=trajectory.goal,
        outcome=outcome(trajectory),
        trajectory=render(without_invalid_steps(trajectory), settings.trajectory_chars),
        known="\n".join(f"- {one.name}: {one.when}" for one in known) or "Nothing yet.",
    )
    system = fill(
        PROMPTS, "induce_system", most=settings.max_new, min_steps=settings.min_steps, max_steps=MAX_STEPS
    )

    def found(reply: Reply) -> list[Workflow]:
        text = _whole(reply)
        is_none = NOTHING_NEW in text.lower() and not read(text)
        return [] if is_none else _workflows(text, settings.min_steps)

    messages = (Message("system", system), Message("user", user))
    workflows, _ = await ask(bench, "induce", messages, found, temperature=0.0)
    return workflows[: settings.max_new]


async def consolidate(workflows: Sequence[Workflow], settings: AwmSettings, bench: Bench) -> list[Workflow]:
    """The workflows merged; without the oldest where no reply can be used, or the merged are too long."""
    most = settings.consolidate_to
    system = fill(PROMPTS, "consolidate_system", most=most, min_steps=settings.min_steps, max_steps=MAX_STEPS)
    user = fill(PROMPTS, "consolidate_user", known=written(workflows))

    def found(reply: Reply) -> list[Workflow]:
        fewer = _workflows(_whole(reply), settings.min_steps)
        if len(fewer) > most:
            raise UnreadableReply(f"these are {len(fewer)} workflows; write at most {most}")
        return fewer

    messages = (Message("system", system), Message("user", user))
    try:
        fewer, _ = await ask(bench, "consolidate", messages, found, temperature=0.0)
    except UnreadableReply:
        return within_bounds(workflows, settings)
    return within_bounds(in_order_of(workflows, fewer), settings)


def within_bounds(workflows: Sequence[Workflow], settings: AwmSettings) -> list[Workflow]:
    """Without the oldest, as far as the bounds ask for it."""
    return newest(workflows, settings.max_workflows, settings.memory_tokens * CHARS_PER_TOKEN)


def _whole(reply: Reply) -> str:
    if reply.finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; write fewer or shorter workflows")
    return read_prose(reply.text, reply.finish_reason)


def _workflows(text: str, min_steps: int) -> list[Workflow]:
    workflows = read(text, min_steps)
    if not workflows:
        raise UnreadableReply(
            f"it holds no workflow: a line `## name`, a line `when: ...`, and {min_steps} to {MAX_STEPS} "
            "numbered lines `what is seen -> why -> the action`"
        )
    return workflows
