"""Reflection: trajectory to learning plan (paper, section 3.2)."""

from __future__ import annotations

from agents.asking import ask
from agents.ocm.plan import PLAN_SCHEMA, LearningPlan, read_plan
from agents.ocm.settings import OcmSettings
from agents.parsing import parse_json
from agents.prompts import fill
from agents.protocol import Bench
from agents.rendering import outcome, render
from knowledge_store.index import level0
from ocm.types import Files, Message, Reply, Trajectory

PROMPTS = "agents.ocm.prompts"


async def reflect(trajectory: Trajectory, memory: Files, settings: OcmSettings, bench: Bench) -> LearningPlan:
    """Ask for a learning plan.

    Raises:
        UnreadableReply: two replies in a row held no plan.
    """
    messages = (
        Message("system", fill(PROMPTS, "reflect_system", parts=parts(settings))),
        Message("user", fill(PROMPTS, "reflect_user", **episode_texts(trajectory, memory, settings))),
    )
    plan, _ = await ask(bench, "reflect", messages, _read, PLAN_SCHEMA)
    return plan.without(objects=not settings.objects, procedures=not settings.procedures)


def _read(reply: Reply) -> LearningPlan:
    return read_plan(parse_json(reply.text, reply.finish_reason))


def parts(settings: OcmSettings) -> str:
    """What the model consists of, in words, under these settings."""
    name = "both" if settings.objects and settings.procedures else _only(settings)
    return fill(PROMPTS, f"parts_{name}")


def _only(settings: OcmSettings) -> str:
    return "objects" if settings.objects else "procedures"


def episode_texts(trajectory: Trajectory, memory: Files, settings: OcmSettings) -> dict[str, str]:
    """What reflection and update both see of an episode and of the memory."""
    return {
        "goal": trajectory.goal,
        "outcome": outcome(trajectory),
        "trajectory": render(trajectory, settings.trajectory_chars),
        "knowledge": level0(memory, settings.level0_tokens).text or "Nothing yet.",
    }
