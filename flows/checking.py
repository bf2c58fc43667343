"""``ocm tasks --check``: does every task of an environment start, and answer some actions, where it would be
played in a sweep?

The actions come from the environment's ``probe``, which sees the observations only, so a check takes no look
at solutions. They are seeded by the task: every check of a task takes the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs import registry
from envs.pool import HostPool
from envs.registry import EnvironmentEntry
from ocm.errors import OcmError
from ocm.identity import generator
from ocm.types import Step, TaskRef, Validity


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """What one task did."""

    task: TaskRef
    reset: bool
    """Whether it started."""
    steps: tuple[Step, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentCheck:
    """What the tasks of one task set did."""

    environment: str
    task_set: str
    tasks: tuple[TaskCheck, ...]
    seconds: float

    @property
    def errors(self) -> list[TaskCheck]:
        return [one for one in self.tasks if one.error]

    @property
    def resets(self) -> int:
        """Tasks that started."""
        return sum(one.reset for one in self.tasks)

    @property
    def steps(self) -> list[Step]:
        """Of all tasks."""
        return [step for one in self.tasks for step in one.steps]

    @property
    def invalid_share(self) -> float | None:
        """Invalid actions per action; None without actions."""
        steps = self.steps
        return sum(step.validity is not Validity.VALID for step in steps) / len(steps) if steps else None

    @property
    def observation_characters(self) -> float | None:
        """Characters per observation of a step; None without steps."""
        steps = self.steps
        return sum(len(step.observation) for step in steps) / len(steps) if steps else None


async def check_environment(
    pool: HostPool,
    entry: EnvironmentEntry,
    tasks: Sequence[TaskRef],
    steps: int,
    told: Callable[[TaskCheck], None],
) -> EnvironmentCheck:
    """Reset every task on the pool's hosts and take some steps in each, side by side.

    Args:
        pool: where the tasks are played.
        entry: the environment, played with its default settings.
        tasks: of one task set, at least one.
        steps: actions per task; fewer where the episode ends before.
        told: called with each task's outcome as soon as it is known.
    """
    started = time.monotonic()

    async def one(task: TaskRef) -> TaskCheck:
        outcome = await check_task(pool, entry, task, steps)
        told(outcome)
        return outcome

    outcomes = await asyncio.gather(*map(one, tasks))
    return EnvironmentCheck(entry.name, tasks[0].task_set, tuple(outcomes), time.monotonic() - started)


async def check_task(pool: HostPool, entry: EnvironmentEntry, task: TaskRef, steps: int) -> TaskCheck:
    """Reset one task and take some steps. An error of ours is an outcome."""
    probe = registry.probe(entry)
    draw = generator("probe", entry.name, task.id)
    seen: list[str] = []
    taken: list[Step] = []
    try:
        async with pool.lease(entry, {}) as host:
            seen.append((await host.reset(task)).text)
            while probe and len(taken) < steps and not (taken and taken[-1].done):
                taken.append(await host.step(probe(seen, draw)))
                seen.append(taken[-1].observation)
    except OcmError as error:
        return TaskCheck(task, bool(seen), tuple(taken), f"{error.boundary}: {error}")
    return TaskCheck(task, True, tuple(taken))
