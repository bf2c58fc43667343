"""The process that hosts environments: a plain class, and the Ray actor made of it.

An environment lives as long as its host and plays one task after another: a simulator starts once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from envs import registry
from envs.protocol import Environment
from ocm.errors import EnvironmentFault
from ocm.identity import canonical_json
from ocm.types import Observation, Step, TaskRef


class EnvHost:
    """Environments of one process, one per name and settings. One task runs at a time."""

    def __init__(self) -> None:
        self._environments: dict[str, Environment] = {}
        self._running: Environment | None = None

    def reset(self, environment: str, settings: Mapping[str, Any], task: TaskRef) -> Observation:
        """Start a task; whatever ran before is over.

        Raises:
            SpecError: unknown environment or wrong settings.
            EnvironmentFault: the simulator failed.
        """
        self._running = None
        world = self._environment(environment, settings)
        observation = world.reset(task)
        self._running = world
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
        """Resident memory of this process and of the simulators that it started, in MB."""
        import psutil

        process = psutil.Process()
        return _resident(process) + sum(_resident(child) for child in process.children(recursive=True))

    def close(self) -> None:
        """Close all environments. May be called twice."""
        self._running = None
        while self._environments:
            self._environments.popitem()[1].close()

    def _environment(self, name: str, settings: Mapping[str, Any]) -> Environment:
        key = canonical_json([name, settings])
        if key not in self._environments:
            self._environments[key] = registry.create(name, settings)
        return self._environments[key]


@cache
def host_actor() -> Any:
    """:class:`EnvHost` as a Ray actor class.

    It takes no share of a core, since it mostly waits for a model. It is never restarted and no call
    is repeated: a world in mid-episode cannot be brought back, so the episode starts again.
    """
    import ray

    return ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(EnvHost)


def _resident(process: Any) -> float:
    import psutil

    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.NoSuchProcess:  # a child that ended since it was listed
        return 0.0
