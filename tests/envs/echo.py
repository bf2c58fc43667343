"""A tiny environment whose simulator is a process of its own, with a child that outlives closed pipes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import psutil
from pydantic import Field

from envs.registry import EnvironmentEntry
from ocm.errors import EnvironmentFault, SpecError
from ocm.spec import Model
from ocm.types import Observation, Step, TaskRef, Validity

SIMULATOR = "sleep 1000 & exec cat"
"""``cat`` answers; ``sleep`` reads nothing, so it does not see that its host is gone."""


class EchoSettings(Model):
    steps: int = Field(default=5, ge=1)
    """Steps until the task is done."""
    keeps_mb: int = Field(default=0, ge=0)
    """Memory that each episode takes and never gives back."""


class EchoEnvironment:
    """Says what it is told, by way of its simulator; every task is won at the last step."""

    name = "echo"
    version = "1"
    deterministic = True
    rules = "Say anything."

    def __init__(self, settings: EchoSettings) -> None:
        self.step_limit = settings.steps
        self._settings = settings
        self._simulator: subprocess.Popen[bytes] | None = None
        self._steps = 0
        self._kept: list[bytearray] = []

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        if task_set != "all":
            raise SpecError("echo has one task set: all")
        return [TaskRef("echo", "all", f"e{number}", "easy") for number in range(8)]

    def reset(self, task: TaskRef) -> Observation:
        if self._simulator is None:
            self._simulator = subprocess.Popen(
                ["sh", "-c", SIMULATOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._steps = 0
        self._kept.append(bytearray(self._settings.keeps_mb * 2**20))
        return Observation(f"say {task.id}", self._asked(f"task {task.id}"))

    def step(self, action: str) -> Step:
        self._steps += 1
        done = self._steps == self._settings.steps
        text = self._asked(f"{self._steps}: {action}")
        return Step(action, text, float(done), done, done, Validity.VALID)

    def close(self) -> None:
        if self._simulator is not None:
            for child in psutil.Process(self._simulator.pid).children():
                child.kill()
            self._simulator.kill()
            self._simulator.communicate()
            self._simulator = None

    def _asked(self, line: str) -> str:
        assert self._simulator is not None and self._simulator.stdin and self._simulator.stdout
        try:
            self._simulator.stdin.write(f"{line}\n".encode())
            self._simulator.stdin.flush()
        except BrokenPipeError as error:
            raise EnvironmentFault("the echo has died; the episode starts again") from error
        return self._simulator.stdout.readline().decode().strip()


def echo(memory_mb: int = 100, name: str = "echo") -> EnvironmentEntry:
    """Its entry, as a registry would hold it."""
    return EnvironmentEntry(
        name=name,
        summary="Say what you are told",
        task_sets=("all",),
        default_task_set="all",
        settings="tests.envs.echo:EchoSettings",
        factory="tests.envs.echo:EchoEnvironment",
        memory_mb=memory_mb,
    )
