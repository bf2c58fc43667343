"""AWM at work on PlanCraft: workflows of successes make later tasks successes, also after a merge."""

from __future__ import annotations

from agents.awm.workflows import PATH, read
from envs.plancraft.environment import PlancraftEnvironment
from ocm.types import Episode
from tests.scripted.texts import play, play_tasks

STAIRS, FURTHER = "VAL0500", "VAL0501"
"""Stairs from planks; then the same stairs, with a stem that has to become planks first."""
PLANKS = "VAL0448"
"""Jungle planks from a log."""


def system_prompts(episode: Episode) -> list[str]:
    return [
        call.request.messages[0].content for call in episode.calls if call.request.purpose.startswith("act")
    ]


def test_an_induced_workflow_is_used_by_a_later_success() -> None:
    environment = PlancraftEnvironment()
    by_id = {task.id: task for task in environment.tasks("val.small")}
    tasks = [by_id[STAIRS], by_id[FURTHER]]
    without, _ = play_tasks(environment, tasks, "react")
    (first, second), _ = play_tasks(environment, tasks, "awm")
    assert first.trajectory.success and not without[1].trajectory.success
    assert second.trajectory.success

    (change,) = first.update.delta
    assert change.path == PATH and change.content
    workflow = next(one for one in read(change.content) if one.name == "craft crimson_stairs")
    assert "{slot of crimson_planks}" in workflow.steps[0]
    assert all(change.content.strip() in prompt for prompt in system_prompts(second))
    grid = workflow.steps[0].split("'")[1]
    used = f"As I know, for crimson_stairs I can craft it as '{grid}'"
    assert any(used in turn.thought for turn in second.trajectory.turns)


def test_workflows_are_merged_at_the_bound_and_what_they_state_is_still_used() -> None:
    episodes, _ = play("awm", 34)
    merges = [
        episode.index
        for episode in episodes
        if any(call.request.purpose == "consolidate" for call in episode.calls)
    ]
    contents = {
        episode.index: episode.update.delta[0].content or "" for episode in episodes if episode.update.delta
    }
    sizes = {index: len(read(content)) for index, content in contents.items()}
    assert merges and all(sizes[index] <= 12 for index in merges)
    assert max(sizes.values()) <= 20 and max(map(len, contents.values())) <= 24_000

    learned = next(episode.index for episode in episodes if episode.trajectory.task.id == PLANKS)
    last = episodes[-1]
    assert learned < merges[0] < last.index and last.trajectory.success
    assert "As I know, for jungle_planks" in last.trajectory.turns[0].thought
