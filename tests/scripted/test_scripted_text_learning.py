"""Text memories in the other environments: what the stand-in answers there is kept, shown and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from agents import registry
from agents.awm.workflows import read
from backbones.scripted import ScriptedBackboneClient
from knowledge_store.memory import apply
from ocm.spec import ScriptedBackbone
from ocm.types import EndReason, Step, TaskRef, Trajectory, Turn, TurnKind, UpdateOutcome, Validity
from tasks.bench import EpisodeBench, World
from tests.scripted import alfworld_texts, scienceworld_texts
from tests.scripted.test_scripted_scienceworld_learning import WALK
from tests.scripted.texts import Yes

NOTHING = "Nothing happens."
FETCH = (
    ("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see a pen 1."),
    ("take pen 2 from shelf 2", NOTHING),
    ("take pen 1 from shelf 2", "You pick up the pen 1 from the shelf 2."),
    ("go to box 1", "You arrive at box 1. The box 1 is closed."),
    ("open box 1", "You open the box 1. The box 1 is open. In it, you see nothing."),
    ("move pen 1 to box 1", "You move the pen 1 to the box 1."),
)
EPISODES = {
    "alfworld": ("put a pen in box.", alfworld_texts.room("box 1", "shelf 2"), FETCH),
    "scienceworld": (scienceworld_texts.GOAL, scienceworld_texts.ATTIC, WALK),
}


def played(environment: str, success: bool) -> Trajectory:
    goal, first, pairs = EPISODES[environment]
    steps = [
        Step(action, text, 0.0, False, False, Validity.REFUSED if text == NOTHING else Validity.VALID)
        for action, text in pairs
    ]
    last = Step("look", "The end.", float(success), success, success, Validity.VALID)
    turns = tuple(
        Turn(number, TurnKind.ACTION, "Well.", step.action, "", number - 1)
        for number, step in enumerate(steps, start=1)
    )
    end = EndReason.SUCCESS if success else EndReason.STEP_LIMIT
    return Trajectory(TaskRef(environment, "set", "t1", "s"), goal, first, (*steps, last), turns, (), end)


def nowhere() -> AbstractAsyncContextManager[World]:
    raise AssertionError("no rehearsal is asked for")


async def learned(
    method: str, trajectory: Trajectory, memory: Mapping[str, str], **settings: int
) -> dict[str, str]:
    bench = EpisodeBench(
        ScriptedBackboneClient(ScriptedBackbone()), Yes(), nowhere, trajectory.task, "chain", 0
    )
    update = await registry.create(method, settings).learn(trajectory, memory, bench)
    assert update.outcome is UpdateOutcome.COMMITTED or memory
    return dict(apply(memory, update.delta))


@pytest.mark.parametrize("environment", EPISODES)
async def test_a_workflow_is_the_end_of_the_episode_and_is_told_once(environment: str) -> None:
    trajectory = played(environment, success=True)
    memory = await learned("awm", trajectory, {})
    (workflow,) = read(memory["workflows.md"])
    actions = [step.action for step in trajectory.steps if step.validity is Validity.VALID]
    assert [step.rpartition(" -> ")[2] for step in workflow.steps] == actions[-8:]
    assert await learned("awm", trajectory, memory) == memory


async def test_where_workflows_state_nothing_of_crafting_the_newest_are_kept() -> None:
    memory = await learned("awm", played("alfworld", success=True), {})
    both = await learned("awm", played("scienceworld", success=True), memory)
    assert len(read(both["workflows.md"])) == 2
    last = await learned(
        "awm", played("scienceworld", success=True), memory, max_workflows=1, consolidate_to=1
    )
    assert read(last["workflows.md"]) == read(both["workflows.md"])[1:]


@pytest.mark.parametrize("environment", EPISODES)
async def test_a_reflection_names_a_mistake_and_what_was_seen(environment: str) -> None:
    memory = await learned("reflexion", played(environment, success=False), {})
    text = memory["reflections.md"]
    told = {"alfworld": "A pen was at a shelf.", "scienceworld": "Mixing moss + mud gives green goo."}
    assert told[environment] in text
    assert environment != "alfworld" or "the action `take pen 2 from shelf 2`" in text
