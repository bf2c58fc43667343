"""The Environment protocol: synchronous, one instance is one running world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ocm.types import Observation, Step, TaskRef


@runtime_checkable
class Environment(Protocol):
    """A text environment.

    Same task and same actions give the same observations, unless ``deterministic`` is False.
    """

    name: str
    version: str
    """The environment package's version, for provenance."""
    deterministic: bool
    rules: str
    """The environment's own public description of its actions: no demonstrations, no answers."""
    step_limit: int

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        """The tasks of a set, in the benchmark's order, with stable ids.

        Raises:
            SpecError: the task set does not exist.
        """
        ...

    def reset(self, task: TaskRef) -> Observation:
        """Start a task and return goal and o0.

        Raises:
            EnvironmentFault: the simulator failed.
        """
        ...

    def step(self, action: str) -> Step:
        """Carry out one action. An invalid one is answered, and marked in ``Step.validity``.

        Raises:
            EnvironmentFault: the simulator failed, or no task is running.
        """
        ...

    def close(self) -> None:
        """Free everything. May be called twice."""
        ...
