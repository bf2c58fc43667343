"""A pool of hosts for all chains of a process: started at need, kept warm, replaced when they fail.

The episode is the unit: a chain leases a host for one episode and gives it back. A host whose call
failed, was cancelled or took too long is in an unknown state; it is killed and never used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from envs.host import host_actor
from ocm.errors import EnvironmentFault, OcmError
from ocm.types import Observation, Step, TaskRef

RECYCLE_AFTER = 200
DEADLINE = 120.0
CLOSING_SECONDS = 5.0
"""How long a host that is put away may take to close its simulators."""


class Host:
    """One hosted environment as a coroutine sees it; made by :class:`HostPool`."""

    def __init__(self, deadline: float) -> None:
        self._actor = host_actor().remote()
        self._deadline = deadline
        self.episodes = 0
        self.sound = True
        """False from the start of a call to its good end."""

    async def reset(self, environment: str, settings: Mapping[str, Any], task: TaskRef) -> Observation:
        """Start a task.

        Raises:
            SpecError: unknown environment or wrong settings.
            EnvironmentFault: the simulator failed, its host died, or the deadline has passed.
        """
        self.episodes += 1
        observation: Observation = await self._call("reset", environment, dict(settings), task)
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
        """Resident memory of the host and its simulators."""
        return float(await self._call("memory_mb"))

    async def close(self) -> None:
        """Let a sound host close its simulators, then end it."""
        if self.sound:
            with suppress(OcmError):  # it is killed next, and nothing runs on it
                await self._call("close", deadline=CLOSING_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        import ray

        self.sound = False
        ray.kill(self._actor)

    async def _call(self, method: str, *arguments: object, deadline: float | None = None) -> Any:
        from ray.exceptions import RayError, RayTaskError

        seconds = deadline or self._deadline
        self.sound = False
        try:
            answer = await asyncio.wait_for(_answer(getattr(self._actor, method).remote(*arguments)), seconds)
        except RayTaskError as error:
            raise _raised_on_host(error, method) from None
        except TimeoutError:
            raise EnvironmentFault(
                f"the environment's host did not answer {method} within {seconds:g} s"
            ) from None
        except RayError as error:
            raise EnvironmentFault(
                f"the environment's host died at {method}: {_first_line(error)}"
            ) from error
        self.sound = True
        return answer


class HostPool:
    """At most ``size`` hosts; waiting coroutines are served in the order in which they came."""

    def __init__(
        self,
        size: int,
        recycle_after: int = RECYCLE_AFTER,
        memory_limit_mb: float | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        """Start nothing yet.

        Args:
            size: the largest number of hosts at once.
            recycle_after: episodes after which a host is replaced: simulators leak.
            memory_limit_mb: resident memory above which a host is replaced; None: no limit.
            deadline: seconds that any single call may take, the start of a host included.
        """
        self._turns = asyncio.Semaphore(size)
        self._recycle_after = recycle_after
        self._memory_limit_mb = memory_limit_mb
        self._deadline = deadline
        self._idle: list[Host] = []
        self._leased: set[Host] = set()
        self._closed = False

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Host]:
        """A host for one episode.

        Raises:
            EnvironmentFault: the pool is closed.
        """
        async with self._turns:
            if self._closed:
                raise EnvironmentFault("the pool of environment hosts is closed")
            host = self._idle.pop() if self._idle else Host(self._deadline)
            self._leased.add(host)
            try:
                yield host
            finally:
                self._leased.discard(host)
                await self._give_back(host)

    def warm(self, count: int) -> None:
        """Begin to start hosts until ``count`` are there; returns at once."""
        missing = count - len(self._idle) - len(self._leased)
        self._idle.extend(Host(self._deadline) for _ in range(missing))

    async def close(self) -> None:
        """End all hosts; those in use at once. May be called twice."""
        self._closed = True
        for host in self._leased:
            host.kill()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(host.close() for host in idle))

    async def _give_back(self, host: Host) -> None:
        if await self._still_good(host):
            self._idle.append(host)
        else:
            await host.close()

    async def _still_good(self, host: Host) -> bool:
        if self._closed or not host.sound or host.episodes >= self._recycle_after:
            return False
        if self._memory_limit_mb is None:
            return True
        try:
            return await host.memory_mb() <= self._memory_limit_mb
        except EnvironmentFault:
            return False


async def _answer(reference: Awaitable[Any]) -> Any:
    return await reference


def _raised_on_host(error: Any, method: str) -> OcmError:
    """The error as it was raised there, or a fault that names it."""
    cause = error.cause
    if isinstance(cause, OcmError):
        return cause
    return EnvironmentFault(
        f"the environment's code failed at {method}: {type(cause).__name__}: {cause}", traceback=str(error)
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
