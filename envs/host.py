"""The process that hosts an environment: a plain class, and the Ray actor made of it.

An environment lives as long as its host and plays one task after another: a simulator starts once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from envs import registry
from envs.memory import MB, process_mb
from envs.protocol import Environment
from envs.registry import EnvironmentEntry
from ocm.errors import EnvironmentFault
from ocm.types import Observation, Step, TaskRef


class EnvHost:
    """One environment with one set of settings; one task runs at a time."""

    def __init__(self, entry: EnvironmentEntry, settings: Mapping[str, Any]) -> None:
        """Start nothing yet: what is wrong shows at the first ``reset``, whose errors reach the caller as
        they are.

        Args:
            entry: the registry's entry, from the driver: this process's own registry is not asked.
            settings: those of the environment.
        """
        self._entry = entry
        self._settings = settings
        self._environment: Environment | None = None
        self._running: Environment | None = None

    def reset(self, task: TaskRef) -> Observation:
        """Start a task; whatever ran before is over.

        Raises:
            SpecError: wrong settings.
            EnvironmentFault: the simulator failed.
        """
        self._running = None
        self._environment = self._environment or registry.build(self._entry, self._settings)
        observation = self._environment.reset(task)
        self._running = self._environment
        return observation

    def step(self, action: str) -> Step:
        """Carry out one action of the running task.

        Raises:
            EnvironmentFault: the simulator failed, or no task is running.
        """
        if self._running is None:
            raise EnvironmentFault("no task is running on this host: call reset before step")
        return self._running.step(action)

    def ping(self) -> int:
        """The id of this process, as a sign of life."""
        return os.getpid()

    def memory_mb(self) -> float:
        """Memory of this process and of the simulators that it started (see :func:`process_mb`)."""
        return process_mb()

    def close(self) -> None:
        """Close the environment. May be called twice."""
        environment, self._environment, self._running = self._environment, None, None
        if environment is not None:
            environment.close()


def start_host(entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Any:
    """A new Ray actor around an :class:`EnvHost`, for which Ray reserves the entry's memory."""
    return _actor_class().options(memory=entry.memory_mb * MB).remote(entry, dict(settings))


@cache
def _actor_class() -> Any:
    """:class:`EnvHost` as a Ray actor class.

    It takes no share of a core, since it mostly waits for a model. It is never restarted and no call
    is repeated: a world in mid-episode cannot be brought back, so the episode starts again.
    """
    import ray

    return ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(EnvHost)
