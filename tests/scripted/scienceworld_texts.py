"""ScienceWorld's prompts as the agents write them, in a house that is no game's, and recorded episodes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from agents.ocm.plan import read_plan
from agents.prompts import SHARED, fill
from backbones.scripted.client import reply_to
from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.player import Move
from backbones.scripted.scienceworld.playing import decide
from backbones.scripted.scienceworld.scene import read_scene
from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from ocm.types import Files, Message, Request
from tests.scripted.texts import OCM_PROMPTS, memory_text, request

GOAL = "Task Description:\nYour task is to find the gong. First, focus on the gong."
NOT_KNOWN = "No known action matches that input."
PARTS = {"both": "objects", "objects": "objects", "procedures": "alone"}
RECORDED = Path(__file__).with_name("scienceworld_episodes.jsonl")
"""Episodes that the stand-in played in the simulator; ``python -m tests.scripted.scienceworld_record``."""


def room(name: str, doors: dict[str, str], *things: str) -> str:
    """A room's description; ``doors`` leads to ``open`` or ``closed``."""
    lines = [
        f"This room is called the {name}. In it, you see: ",
        "\tthe agent",
        *(f"\t{one}" for one in things),
    ]
    lines += ["You also see:", *(f"\tA door to the {to} (that is {state})" for to, state in doors.items())]
    return "\n".join(lines)


ATTIC = room(
    "attic", {"cellar": "closed"}, "a crate. The crate door is closed. ", "a lamp, which is turned off"
)


def acting(
    first: str, *steps: tuple[str, str], goal: str = GOAL, memory: Files | None = None, full: bool = True
) -> list[Message]:
    """The messages of an episode; a step is (action, observation)."""
    text = memory_text(memory, full) if memory else ""
    system = fill(
        SHARED, "act_system", step_limit=100, rules="Rules.", reply=fill(SHARED, "act_reply"), memory=text
    )
    messages = [
        Message("system", system),
        Message("user", fill(SHARED, "act_goal", goal=goal, observation=first)),
    ]
    for number, (action, observation) in enumerate(steps, start=1):
        said = fill(SHARED, "act_observation", step=number, step_limit=100, observation=observation)
        messages += [Message("assistant", f"Well.\n\nAction: {action}"), Message("user", said)]
    return messages


def turn(messages: list[Message], seed: int = 0) -> Move:
    """What the player does next."""
    scene = read_scene(read_dialogue(messages), seed)
    assert scene is not None
    return decide(scene)


def episode(first: str, *steps: tuple[str, str]) -> str:
    """A finished episode as a learning prompt shows it."""
    entries = [f"[0] {first}"]
    for number, (action, observation) in enumerate(steps, start=1):
        outcome = "invalid: refused" if observation == NOT_KNOWN else "valid"
        entries.append(
            f"[{number}] thought: Well.\n    action: {action}\n    outcome: {outcome}\n{observation}"
        )
    return "\n".join(entries)


def reflecting(
    trajectory: str, memory: Files, parts: str = "both", goal: str = GOAL, outcome: str = "Success."
) -> Request:
    system = fill(OCM_PROMPTS, "reflect_system", parts=fill(OCM_PROMPTS, f"parts_{parts}"))
    user = fill(OCM_PROMPTS, "reflect_user", **_texts(trajectory, memory, goal, outcome))
    return request([Message("system", system), Message("user", user)], "reflect")


def updating(
    trajectory: str, memory: Files, parts: str = "both", goal: str = GOAL, outcome: str = "Success."
) -> list[Message]:
    plan = read_plan(json.loads(reply_to(reflecting(trajectory, memory, parts, goal, outcome), 0.0)))
    system = fill(
        OCM_PROMPTS,
        "update_system",
        parts=fill(OCM_PROMPTS, f"parts_{parts}"),
        procedure_rule=fill(OCM_PROMPTS, f"procedure_rule_{PARTS[parts]}"),
        modules="re",
    )
    source = resolve(memory, plan.names_to_read(), 24_000).text if memory else "None."
    texts = _texts(trajectory, memory, goal, outcome)
    user = fill(OCM_PROMPTS, "update_user", plan=plan.to_json(), source=source, **texts)
    return [Message("system", system), Message("user", user)]


def _texts(trajectory: str, memory: Files, goal: str, outcome: str) -> dict[str, str]:
    return {
        "goal": goal,
        "outcome": outcome,
        "trajectory": trajectory,
        "knowledge": level0(memory).text if memory else "Nothing yet.",
    }


@cache
def recorded() -> tuple[dict[str, Any], ...]:
    """``{task, goal, first, steps: [[action, observation, validity]]}`` each."""
    return tuple(map(json.loads, RECORDED.read_text("utf-8").splitlines()))
