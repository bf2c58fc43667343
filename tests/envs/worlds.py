"""All registered environments that can be played here, and one won episode of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from envs import registry
from envs.protocol import Environment
from envs.registry import EnvironmentEntry
from ocm.errors import SpecError
from ocm.identity import generator
from ocm.types import Step, TaskRef

WINS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "plancraft": ("test.small", "TEST0487", ("smelt: from [I6] to [I36] with quantity 1",)),
    "scienceworld": (
        "test.first5",
        "find-non-living-thing/227",
        (
            *("open door to kitchen", "go to kitchen", "open door to hallway", "go to hallway"),
            *("open door to living room", "go to living room", "focus on table"),
            "move table to purple box",
        ),
    ),
    "alfworld": (
        "own",
        "pick_and_place_simple-Pencil-None-Drawer-bedroom",
        (
            *("go to shelf 2", "take pencil 1 from shelf 2", "go to drawer 2"),
            *("open drawer 2", "move pencil 1 to drawer 2"),
        ),
    ),
}
"""Task set, task and actions that solve it."""


@dataclass(frozen=True)
class World:
    """An environment with one of its task sets."""

    entry: EnvironmentEntry
    environment: Environment
    tasks: Sequence[TaskRef]

    @property
    def win(self) -> tuple[TaskRef, tuple[str, ...]]:
        task_set, task_id, actions = WINS[self.entry.name]
        tasks = {task.id: task for task in self.environment.tasks(task_set)}
        return tasks[task_id], actions


def available(name: str) -> World:
    """The environment with the first of its task sets that is on this machine; otherwise skip the test."""
    entry = registry.entry(name)
    reasons = []
    for task_set in (entry.default_task_set, *entry.task_sets):
        try:
            environment = registry.create(name, {})
            return World(entry, environment, environment.tasks(task_set))
        except SpecError as error:
            reasons.append(str(error))
    pytest.skip(reasons[-1])


def play(environment: Environment, task: TaskRef, actions: Iterable[str]) -> list[Step]:
    """Reset and carry the actions out, or as many as the episode takes."""
    environment.reset(task)
    steps: list[Step] = []
    for action in actions:
        steps.append(environment.step(action))
        if steps[-1].done:
            break
    return steps


def probed(world: World, task: TaskRef, most: int) -> list[Step]:
    """An episode of the environment's own probe, seeded by the task."""
    probe = registry.probe(world.entry)
    assert probe is not None
    draw = generator("probe", world.entry.name, task.id)
    seen = [world.environment.reset(task).text]
    steps: list[Step] = []
    while len(steps) < most and not (steps and steps[-1].done):
        steps.append(world.environment.step(probe(seen, draw)))
        seen.append(steps[-1].observation)
    return steps
