"""A pool of hosts for all chains of a process: started at need, kept warm, replaced when they fail.

The episode is the unit: a chain leases a host for one episode and gives it back. Who gets which host is
decided in :mod:`envs.policy`; here the decisions are carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

from envs.capacity import check_fits
from envs.handle import Host, kind_of
from envs.policy import End, Give, Kind, Limits, Start, State, Waiter, is_stuck, next_move
from envs.registry import EnvironmentEntry
from ocm.errors import EnvironmentFault, OrchestrationError

RECYCLE_AFTER = 200
RECYCLE_ABOVE = 2.0
WEIGHED_EVERY = 5
"""Episodes between two looks at what a host takes: one costs ten milliseconds."""
DEADLINE = 120.0
QUIET_SECONDS = 10.0
"""A host that has not answered for so long is asked for a sign of life before it is leased."""
SHORT_SECONDS = 60.0
LOOK_SECONDS = 1.0
"""Between two looks at the free memory while somebody waits for it."""


@dataclass(slots=True)
class Counts:
    """What has happened in a pool."""

    started: int = 0
    recycled: int = 0
    """Ended after their episodes, or for what they had come to take."""
    failed: int = 0
    """Ended since a call failed, was cancelled or took too long."""
    found_dead: int = 0
    """Idle ones that gave no sign of life."""
    made_room: int = 0
    """Idle ones that were ended for another kind."""


@dataclass(eq=False, slots=True)
class _Waiting:
    entry: EnvironmentEntry
    settings: Mapping[str, Any]
    kind: Kind
    host: asyncio.Future[Host]
    overtaken: int = 0


class HostPool:
    """Hosts within :class:`envs.policy.Limits`, for one event loop."""

    def __init__(
        self,
        limits: Limits,
        *,
        free_mb: Callable[[], float] = lambda: inf,
        recycle_after: int = RECYCLE_AFTER,
        recycle_above: float = RECYCLE_ABOVE,
        deadline: float = DEADLINE,
        short_seconds: float = SHORT_SECONDS,
    ) -> None:
        """Start nothing yet.

        Args:
            limits: how many hosts there may be.
            free_mb: what the machine can give to new hosts at this moment; asked before each start.
            recycle_after: episodes after which a host is replaced: simulators leak.
            recycle_above: multiple of an entry's ``memory_mb`` above which a host is replaced.
            deadline: seconds that any single call may take, the start of a host included.
            short_seconds: how long to wait for free memory when there is no host at all.
        """
        self.counts = Counts()
        self._limits = limits
        self._free_mb = free_mb
        self._recycle_after = recycle_after
        self._recycle_above = recycle_above
        self._deadline = deadline
        self._short_seconds = short_seconds
        self._idle: list[Host] = []
        """The one that has been idle longest is first."""
        self._leased: list[Host] = []
        self._ending: list[Host] = []
        self._waiting: list[_Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @asynccontextmanager
    async def lease(self, entry: EnvironmentEntry, settings: Mapping[str, Any]) -> AsyncIterator[Host]:
        """A host of this environment with these settings, for one episode.

        Raises:
            EnvironmentFault: the pool is closed.
            OrchestrationError: no host of it fits here, or memory has run out.
        """
        host = await self._acquire(entry, settings)
        try:
            host = await self._living(host)
            yield host
        finally:
            await self._give_back(host)

    def warm(self, entry: EnvironmentEntry, settings: Mapping[str, Any], count: int) -> None:
        """Begin to start hosts until ``count`` of this kind are there, or the limits are reached.

        Their simulators start with their first episode.
        """
        kind = kind_of(entry, settings)
        while (
            sum(live == kind for live in self._state().live) < count
            and kind.memory_mb <= self._state().free_mb
            and self._limits.leave_room(kind, self._state().live)
        ):
            self._idle.append(self._start(entry, settings))

    async def close(self) -> None:
        """End all hosts; those in use at once. May be called twice."""
        self._closed = True
        self._refuse(lambda waiting: _closed())
        if self._looking is not None:
            self._looking.cancel()
        for host in self._leased:
            host.kill()
        while self._idle:
            self._end(self._idle.pop())
        while self._tasks:
            await asyncio.gather(*self._tasks)

    # --- leasing -------------------------------------------------------------------------------

    async def _acquire(self, entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Host:
        if self._closed:
            raise _closed()
        check_fits(self._limits, (entry,))
        kind = kind_of(entry, settings)
        waiting = _Waiting(entry, settings, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._settle()
        try:
            return await waiting.host
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif not waiting.host.cancelled() and waiting.host.exception() is None:
                self._put_back(waiting.host.result())
            self._settle()
            raise

    async def _living(self, host: Host) -> Host:
        """The host, or where it has died in its sleep a new one in its place."""
        if host.quiet_seconds <= QUIET_SECONDS or await host.is_alive():
            return host
        if self._closed:  # by which it was killed
            raise _closed()
        self.counts.found_dead += 1
        host.kill()
        fresh = self._start(host.entry, host.settings)
        self._leased[self._leased.index(host)] = fresh
        return fresh

    async def _give_back(self, host: Host) -> None:
        good = False
        try:
            good = await self._still_good(host)
        finally:
            if good:
                self._put_back(host)
            else:
                self._leased.remove(host)
                self._end(host)
            self._settle()

    def _put_back(self, host: Host) -> None:
        self._leased.remove(host)
        if self._closed:
            self._end(host)
        else:
            self._idle.append(host)

    async def _still_good(self, host: Host) -> bool:
        if not host.sound:
            self.counts.failed += 1
            return False
        if self._closed:
            return False
        if host.episodes:
            host.grown = True
        try:
            worn = host.episodes >= self._recycle_after or await self._is_too_large(host)
        except EnvironmentFault:
            self.counts.failed += 1
            return False
        self.counts.recycled += worn
        return not worn

    async def _is_too_large(self, host: Host) -> bool:
        if host.episodes % WEIGHED_EVERY != 1:
            return False
        return await host.memory_mb() > self._recycle_above * host.kind.memory_mb

    # --- carrying out what the policy says -----------------------------------------------------

    def _state(self) -> State:
        promised = sum(host.kind.memory_mb for host in self._idle + self._leased if not host.grown)
        return State(
            waiting=tuple(Waiter(one.kind, one.overtaken) for one in self._waiting),
            idle=tuple(host.kind for host in self._idle),
            leased=tuple(host.kind for host in self._leased),
            ending=tuple(host.kind for host in self._ending),
            free_mb=self._free_mb() - promised,
        )

    def _settle(self) -> None:
        """Make all moves that can be made now; look again later where memory is what is missing."""
        self._waiting = [one for one in self._waiting if not one.host.done()]  # cancelled meanwhile
        while self._waiting and (move := next_move(self._state(), self._limits)):
            if isinstance(move, End):
                self.counts.made_room += 1
                self._end(self._idle.pop(move.idle))
            else:
                self._serve(move)
        if self._waiting and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())

    def _serve(self, move: Give | Start) -> None:
        waiting = self._waiting.pop(move.waiter)
        for passed in self._waiting[: move.waiter]:
            passed.overtaken += 1
        if isinstance(move, Give):
            host = self._idle.pop(move.idle)
        else:
            host = self._start(waiting.entry, waiting.settings)
        self._leased.append(host)
        waiting.host.set_result(host)

    def _start(self, entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Host:
        self.counts.started += 1
        return Host(entry, settings, self._deadline)

    def _end(self, host: Host) -> None:
        """Begin to end a host that nobody has; it holds its place until it is gone."""
        self._ending.append(host)
        task = asyncio.create_task(self._ended(host))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ended(self, host: Host) -> None:
        try:
            await host.close()
        finally:
            self._ending.remove(host)
            self._settle()

    # --- too little memory ---------------------------------------------------------------------

    async def _look(self) -> None:
        """While somebody waits: has memory become free? Where only that could help, wait not for ever."""
        waited = 0.0
        while self._waiting:
            await asyncio.sleep(LOOK_SECONDS)
            self._settle()
            waited = waited + LOOK_SECONDS if is_stuck(self._state()) else 0.0
            if waited >= self._short_seconds:
                self._refuse(self._memory_has_run_out)

    def _refuse(self, reason: Callable[[_Waiting], Exception]) -> None:
        """Nobody who waits gets a host."""
        for waiting in self._waiting:
            if not waiting.host.done():
                waiting.host.set_exception(reason(waiting))
        self._waiting.clear()

    def _memory_has_run_out(self, waiting: _Waiting) -> OrchestrationError:
        return OrchestrationError(
            f"memory has run out: a host of {waiting.entry.name} needs {waiting.kind.memory_mb:.0f} MB, "
            f"{max(0.0, self._free_mb()):.0f} MB are free, and no other host runs that could be waited for; "
            "end other programs and run the same command again"
        )


def _closed() -> EnvironmentFault:
    return EnvironmentFault("the pool of environment hosts is closed")
