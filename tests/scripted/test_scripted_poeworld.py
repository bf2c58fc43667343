"""PoE-World at work on PlanCraft: surprises become experts, which choose better than a first thought."""

from __future__ import annotations

import json

import pytest

from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode, Files, TaskRef, Turn, Validity
from tests.scripted.texts import Boxed, play_tasks

FIRST, LATER = "VAL0461", "VAL0500"
"""Planks of birch cannot be smelted; then planks of another kind are at hand."""


def chosen_tasks(*ids: str) -> list[TaskRef]:
    by_id = {task.id: task for task in PlancraftEnvironment().tasks("val.small")}
    return [by_id[one] for one in ids]


def play() -> tuple[list[Episode], Files]:
    """A chain over both tasks: its episodes, and the memory in the end."""
    with Sandbox(Policy()) as sandbox:
        tasks = chosen_tasks(FIRST, LATER)
        return play_tasks(PlancraftEnvironment(), tasks, "poeworld", verifier=Boxed(sandbox))


@pytest.fixture(scope="module")
def chain() -> list[Episode]:
    return play()[0]


def test_surprises_become_experts_with_weights_and_useless_ones_go(
    chain: list[Episode],
) -> None:
    first = chain[0]
    memory = apply({}, first.update.delta)
    refused = [step.action for step in first.trajectory.steps if step.validity is Validity.REFUSED]
    asked = [call.request.messages[1].content for call in first.calls if call.request.purpose == "experts"]
    assert any(f"# Action\n{refused[0]}\n" in prompt for prompt in asked), "a failure surprises"

    weights = json.loads(memory["weights.json"])["weights"]
    (kind,) = (path for path, text in memory.items() if "No kind of planks can be smelted" in text)
    assert weights[kind.removeprefix("experts/").removesuffix(".py")] > 0.5
    written = {verdict.path for verdict in first.update.rounds[0].verdicts if verdict.ok} - {"extractor.py"}
    kept = {path for path in memory if path.startswith("experts/")}
    assert kept < written, "experts that foresee nothing of their own are deleted"
    assert all(0.01 < theta <= 10 for theta in weights.values())


def test_experts_choose_where_the_first_proposal_would_have_failed(
    chain: list[Episode],
) -> None:
    later = chain[1]
    turned_down = [turn for turn in later.trajectory.turns if turn.content != proposals(later, turn)[0]]
    assert turned_down
    for turn in turned_down:
        assert turn.content in proposals(later, turn)
        assert later.trajectory.steps[turn.step - 1].validity is Validity.VALID
        assert validity(later, turn.step, proposals(later, turn)[0]) is Validity.REFUSED

    without, _ = play_tasks(PlancraftEnvironment(), chosen_tasks(LATER), "react")
    assert later.trajectory.success and later.trajectory.invalid_actions == 0
    assert without[0].trajectory.invalid_actions > 0
    assert len(later.trajectory.steps) < len(without[0].trajectory.steps)


def proposals(episode: Episode, turn: Turn) -> list[str]:
    call = episode.calls[turn.call]
    assert call.request.purpose == "propose"
    actions: list[str] = json.loads(call.reply.text)["actions"]
    return actions


def validity(episode: Episode, step: int, action: str) -> Validity:
    """What would have become of another action at this step."""
    world = PlancraftEnvironment()
    world.reset(episode.trajectory.task)
    for taken in episode.trajectory.steps[: step - 1]:
        world.step(taken.action)
    return world.step(action).validity


def test_what_is_known_stands_in_the_later_prompts(chain: list[Episode]) -> None:
    later = chain[1]
    systems = {call.request.messages[0].content for call in later.calls}
    assert len(systems) == 1, "it is stable within an episode"
    assert "Smelting birch_planks has no effect." in systems.pop()


def test_a_chain_is_played_alike_every_time(chain: list[Episode]) -> None:
    again, memory = play()
    assert [one.memory_after for one in again] == [one.memory_after for one in chain]
    assert [one.trajectory for one in again] == [one.trajectory for one in chain]
    assert sum(path.startswith("transitions/") for path in memory) == 2
