"""Reflexion at work on PlanCraft: a failure's lesson makes a later task a success."""

from __future__ import annotations

from agents.reflexion.reflections import PATH, read
from envs.plancraft.environment import PlancraftEnvironment
from tests.scripted.texts import play, play_tasks

FAILED, LATER = "VAL0447", "VAL0187"
"""A target out of reach, on whose way sticks are made; then sticks are the target."""


def test_a_lesson_of_a_failure_is_used_by_a_later_success() -> None:
    environment = PlancraftEnvironment()
    by_id = {task.id: task for task in environment.tasks("val.small")}
    tasks = [by_id[FAILED], by_id[LATER]]
    without, _ = play_tasks(environment, tasks, "react")
    (failure, success), memory = play_tasks(environment, tasks, "reflexion")
    assert not failure.trajectory.success and not without[1].trajectory.success
    assert success.trajectory.success

    (lesson,) = read(memory[PATH])
    assert all(
        lesson.text in call.request.messages[0].content
        for call in success.calls
        if call.request.purpose.startswith("act")
    )
    (stated,) = (line for line in lesson.text.split(". ") if line.endswith(" stick"))
    grid = stated.split("'")[1]
    assert f"As I know, for stick I can craft it as '{grid}'" in success.trajectory.turns[0].thought


def test_only_the_last_failures_are_kept() -> None:
    episodes, memory = play("reflexion", 20)
    failed = [episode.trajectory.goal for episode in episodes if not episode.trajectory.success]
    assert [one.goal for one in read(memory[PATH])] == failed[-3:] and len(failed) > 3
    assert all(len(one.text.split()) <= 120 for one in read(memory[PATH]))
