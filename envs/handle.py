"""One hosted environment as a coroutine sees it: Ray's calls with deadlines, and their failures in our
words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from envs.host import start_host
from envs.policy import Kind
from envs.registry import EnvironmentEntry
from ocm.errors import EnvironmentFault, OcmError
from ocm.identity import canonical_json
from ocm.types import Observation, Step, TaskRef

CLOSING_SECONDS = 5.0
"""How long a host that is put away may take to close its simulator."""
PING_SECONDS = 5.0
"""How long an idle host may take to give a sign of life."""


class Host:
    """A host on its own process; made by :class:`envs.pool.HostPool`.

    One whose call failed, was cancelled or took too long is in an unknown state: not ``sound``.
    """

    def __init__(self, entry: EnvironmentEntry, settings: Mapping[str, Any], deadline: float) -> None:
        """Begin to start it; returns at once. ``deadline``: seconds that any single call may take."""
        self.entry = entry
        self.settings = settings
        self.kind = kind_of(entry, settings)
        self.episodes = 0
        self.grown = False
        """Whether an episode has ended on it: what its simulator takes is no longer free."""
        self.sound = True
        """False from the start of a call to its good end."""
        self._actor: Any = start_host(entry, settings)
        self._deadline = deadline
        self._answered: float | None = None

    @property
    def quiet_seconds(self) -> float:
        """Since its last answer; 0 while the first is awaited."""
        return 0.0 if self._answered is None else time.monotonic() - self._answered

    async def reset(self, task: TaskRef) -> Observation:
        """Start a task.

        Raises:
            SpecError: wrong settings.
            EnvironmentFault: the simulator failed, its host died, or the deadline has passed.
        """
        self.episodes += 1
        observation: Observation = await self._call("reset", task)
        return observation

    async def step(self, action: str) -> Step:
        """Carry out one action.

        Raises:
            EnvironmentFault: as for :meth:`reset`, or no task is running.
        """
        step: Step = await self._call("step", action)
        return step

    async def ping(self) -> int:
        """The id of the host's process; waits until it has started."""
        return int(await self._call("ping"))

    async def memory_mb(self) -> float:
        """What the host and its simulator take."""
        return float(await self._call("memory_mb"))

    async def is_alive(self) -> bool:
        """Whether it answers within :data:`PING_SECONDS`."""
        try:
            await self._call("ping", deadline=PING_SECONDS)
        except EnvironmentFault:
            return False
        return True

    async def close(self) -> None:
        """Let a sound host close its simulator, then end it."""
        if self.sound:
            with suppress(OcmError):  # it is killed next, and nothing runs on it
                await self._call("close", deadline=CLOSING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process at once, whatever it is doing. May be called twice."""
        import ray

        self.sound = False
        if self._actor is not None:  # after Ray's own end, Ray would start anew to kill it
            ray.kill(self._actor)
            self._actor = None

    async def _call(self, method: str, *arguments: object, deadline: float | None = None) -> Any:
        from ray.exceptions import RayError, RayTaskError

        seconds = deadline or self._deadline
        self.sound = False
        if self._actor is None:
            raise EnvironmentFault(
                f"{self.entry.name}'s host was ended before {method}; the episode starts again"
            )
        try:
            answer = await asyncio.wait_for(_answer(getattr(self._actor, method).remote(*arguments)), seconds)
        except RayTaskError as error:
            raise _raised_on_host(error, self.entry.name, method) from None
        except TimeoutError:
            raise EnvironmentFault(
                f"{self.entry.name}'s host did not answer {method} within {seconds:g} s; the episode starts "
                "again, and if that goes on, this machine is too busy: set a lower run.environment_hosts"
            ) from None
        except RayError as error:
            raise EnvironmentFault(
                f"{self.entry.name}'s host died at {method}: {_first_line(error)}; the episode starts again"
            ) from error
        self.sound = True
        self._answered = time.monotonic()
        return answer


def kind_of(entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Kind:
    """What a host of this environment with these settings is for."""
    return Kind(canonical_json([asdict(entry), dict(settings)]), entry.memory_mb)


async def _answer(reference: Awaitable[Any]) -> Any:
    return await reference


def _raised_on_host(error: Any, environment: str, method: str) -> OcmError:
    """The error as it was raised there, or a fault that names it."""
    cause = error.cause
    if isinstance(cause, OcmError):
        return cause
    return EnvironmentFault(
        f"{environment}'s code failed at {method}: {type(cause).__name__}: {cause}; this is a bug of the "
        "environment, or of its simulator",
        traceback=str(error),
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
