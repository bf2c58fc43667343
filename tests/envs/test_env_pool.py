"""The pool with real Ray actors: reuse, recycling, death, deadlines, bounds, fairness."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from envs import handle, pool, registry
from envs.capacity import RESERVE_MB, free_here_mb
from envs.policy import Limits
from envs.pool import HostPool
from ocm.errors import EnvironmentFault, OrchestrationError, SpecError
from ocm.types import Step, TaskRef, Validity
from tests.envs.echo import echo

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("ray_session")]

PLANCRAFT = registry.entry("plancraft")
TASK = TaskRef("plancraft", "test.small", "TEST0487", "easy")
SAY = TaskRef("echo", "all", "e0", "easy")
SMELT = "smelt: from [I6] to [I36] with quantity 1"


@asynccontextmanager
async def pool_of(hosts: int, memory_mb: float = 4000, **settings: Any) -> AsyncIterator[HostPool]:
    made = HostPool(Limits(hosts, memory_mb, (memory_mb,)), **settings)
    try:
        yield made
    finally:
        await made.close()


async def gone(*pids: int) -> bool:
    """Whether the processes end within some seconds."""
    for _ in range(150):
        if not any(map(alive, pids)):
            return True
        await asyncio.sleep(0.1)
    return False


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def started_by(pid: int) -> list[int]:
    """The processes of a host's simulator."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


# --- one environment -----------------------------------------------------------------------------


async def test_an_episode_is_played_and_the_host_stays_warm() -> None:
    async with pool_of(1) as pool:
        pids = []
        for _ in range(2):
            async with pool.lease(PLANCRAFT, {}) as host:
                observation = await host.reset(TASK)
                assert observation.goal == "Craft an item of type: coal"
                step = await host.step(SMELT)
                assert step.success and step.done and step.validity is Validity.VALID
                pids.append(await host.ping())
        assert pids[0] == pids[1] != os.getpid()
    assert await gone(pids[0])


async def test_an_environment_that_only_the_driver_knows_is_hosted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ENVIRONMENTS", {**registry.ENVIRONMENTS, "parrot": echo(name="parrot")})
    async with pool_of(1) as pool, pool.lease(registry.entry("parrot"), {"steps": 1}) as host:
        assert (await host.reset(SAY)).text == "task e0"
        assert (await host.step("hello")).observation == "1: hello"


async def test_errors_cross_ray_as_they_are_and_the_host_is_replaced() -> None:
    async with pool_of(1) as pool:
        async with pool.lease(PLANCRAFT, {"serch": True}) as host:
            first = await host.ping()
            with pytest.raises(SpecError, match="plancraft") as spec_error:
                await host.reset(TASK)
            assert type(spec_error.value) is SpecError
        async with pool.lease(PLANCRAFT, {}) as host:
            assert await host.ping() != first
            with pytest.raises(EnvironmentFault, match="call reset before step") as fault:
                await host.step("move")
            assert type(fault.value) is EnvironmentFault


async def test_a_host_killed_in_mid_episode_is_a_fault_and_is_replaced() -> None:
    async with pool_of(1) as pool:
        with pytest.raises(EnvironmentFault, match="died at step"):
            async with pool.lease(PLANCRAFT, {}) as host:
                await host.reset(TASK)
                dead = await host.ping()
                os.kill(dead, signal.SIGKILL)
                await host.step(SMELT)
        async with pool.lease(PLANCRAFT, {}) as host:
            await host.reset(TASK)
            assert (await host.step(SMELT)).success
            assert await host.ping() != dead
        assert (pool.counts.started, pool.counts.failed) == (2, 1)


async def test_all_that_a_simulator_started_ends_with_its_host() -> None:
    """However the host ends: put away, killed from here, killed by somebody else."""
    async with pool_of(3) as pool:
        async with pool.lease(echo(), {}) as asked, pool.lease(echo(), {}) as killed:
            await asked.reset(SAY)
            await killed.reset(SAY)
            mine, theirs = await asked.ping(), await killed.ping()
            of_mine, of_theirs = started_by(mine), started_by(theirs)
            assert len(of_mine) == len(of_theirs) == 2
            os.kill(theirs, signal.SIGKILL)
            assert await gone(*of_theirs)
        async with pool.lease(echo(), {}) as stuck:
            await stuck.reset(SAY)
            stuck._deadline = 0.5
            os.kill(mine, signal.SIGSTOP)
            with pytest.raises(EnvironmentFault, match="did not answer"):
                await stuck.step("hello")
        assert await gone(mine, *of_mine)


async def test_the_hosts_memory_has_its_simulator_in_it() -> None:
    async with pool_of(1) as pool, pool.lease(echo(), {"keeps_mb": 50}) as host:
        await host.ping()
        before = await host.memory_mb()
        await host.reset(SAY)
        simulator = sum(psutil.Process(pid).memory_full_info().pss for pid in started_by(await host.ping()))
        assert await host.memory_mb() - before > 50 + 0.9 * simulator / 2**20


async def test_a_host_that_hangs_is_killed_at_the_deadline() -> None:
    async with pool_of(1, deadline=60.0) as pool:
        with pytest.raises(EnvironmentFault, match=r"did not answer step within 0\.5 s"):
            async with pool.lease(PLANCRAFT, {}) as host:
                await host.reset(TASK)
                stuck = await host.ping()
                host._deadline = 0.5
                os.kill(stuck, signal.SIGSTOP)
                await host.step(SMELT)
        async with pool.lease(PLANCRAFT, {}) as host:
            assert await host.ping() != stuck
        assert await gone(stuck)


async def test_a_cancelled_call_costs_the_host_and_not_the_pool() -> None:
    async with pool_of(1) as pool:
        pids: list[int] = []

        async def episode() -> None:
            async with pool.lease(PLANCRAFT, {}) as host:
                await host.reset(TASK)
                pids.append(await host.ping())
                os.kill(pids[0], signal.SIGSTOP)
                await host.step(SMELT)

        task = asyncio.create_task(episode())
        while not pids:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with pool.lease(PLANCRAFT, {}) as host:
            assert await host.ping() != pids[0]


@pytest.mark.parametrize(
    "settings", [{"recycle_after": 2}, {"recycle_above": 0.01}], ids=["by episodes", "by memory"]
)
async def test_hosts_are_recycled(settings: dict[str, Any]) -> None:
    async with pool_of(1, **settings) as pool:
        pids = []
        for _ in range(3):
            async with pool.lease(PLANCRAFT, {}) as host:
                await host.reset(TASK)
                pids.append(await host.ping())
        assert pids[1] != pids[2]
        assert (pids[0] == pids[1]) is ("recycle_after" in settings)
        assert await gone(pids[1])


async def test_waiting_is_first_come_first_served() -> None:
    async with pool_of(1) as pool:
        order: list[int] = []

        async def episode(number: int) -> None:
            async with pool.lease(PLANCRAFT, {}) as host:
                order.append(number)
                await host.reset(TASK)

        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(episode(number))
                await asyncio.sleep(0)
        assert order == list(range(12))


async def test_no_more_hosts_than_the_size() -> None:
    async with pool_of(2) as pool:
        pids: set[int] = set()

        async def episode() -> None:
            async with pool.lease(PLANCRAFT, {}) as host:
                await host.reset(TASK)
                pids.add(await host.ping())

        await asyncio.gather(*(episode() for _ in range(8)))
        assert len(pids) == 2


async def test_warm_hosts_are_there_before_they_are_asked_for() -> None:
    async with pool_of(2) as pool:
        pool.warm(PLANCRAFT, {}, 2)
        async with pool.lease(PLANCRAFT, {}) as host:
            await host.ping()
        started = time.monotonic()
        async with pool.lease(PLANCRAFT, {}) as host:
            await host.reset(TASK)
        assert time.monotonic() - started < 2


async def test_closing_ends_hosts_in_use_and_refuses_new_leases() -> None:
    pool = HostPool(Limits(1, 1000, (1000,)))
    async with pool.lease(PLANCRAFT, {}) as host:
        pid = await host.ping()
        await pool.close()
        with pytest.raises(EnvironmentFault, match="was ended before step"):
            await host.step(SMELT)
    assert await gone(pid)
    with pytest.raises(EnvironmentFault, match="closed"):
        async with pool.lease(PLANCRAFT, {}):
            pass
    await pool.close()


async def test_the_episodes_memory_stays_flat() -> None:
    async with pool_of(1) as pool, pool.lease(PLANCRAFT, {}) as host:
        await host.reset(TASK)
        before = await host.memory_mb()
        for _ in range(100):
            await host.reset(TASK)
            await host.step(SMELT)
        assert await host.memory_mb() < before + 10


# --- sleep, several environments, and bounds -----------------------------------------------------


async def test_a_host_that_died_in_its_sleep_is_replaced_before_it_is_leased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "QUIET_SECONDS", 0.0)
    async with pool_of(1) as made:
        async with made.lease(PLANCRAFT, {}) as host:
            await host.reset(TASK)
            dead = await host.ping()
        os.kill(dead, signal.SIGKILL)
        async with made.lease(PLANCRAFT, {}) as host:
            assert (await host.reset(TASK)).text
            assert await host.ping() != dead
        assert (made.counts.started, made.counts.found_dead, made.counts.failed) == (2, 1, 0)


async def test_a_host_that_hangs_in_its_sleep_is_replaced_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(handle, "PING_SECONDS", 0.5)
    async with pool_of(1) as made:
        async with made.lease(echo(), {}) as host:
            await host.reset(SAY)
            stuck = await host.ping()
        simulator = started_by(stuck)
        os.kill(stuck, signal.SIGSTOP)
        async with made.lease(echo(), {}) as host:
            assert await host.ping() != stuck
        assert made.counts.found_dead == 1
        assert await gone(stuck, *simulator)


async def test_no_host_is_started_in_a_pool_that_closes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.pool.QUIET_SECONDS", -1.0)
    async with pool_of(1) as pool:
        async with pool.lease(PLANCRAFT, {}) as host:
            os.kill(await host.ping(), signal.SIGSTOP)
        leasing = asyncio.ensure_future(pool.lease(PLANCRAFT, {}).__aenter__())
        await asyncio.sleep(0.5)
        await pool.close()
        with pytest.raises(EnvironmentFault, match="pool of environment hosts is closed"):
            await leasing
        assert pool.counts.started == 1


async def test_environments_and_settings_are_kept_apart() -> None:
    async with pool_of(3) as pool:
        pids = []
        for entry, settings in ((echo(), {}), (echo(), {"steps": 2}), (PLANCRAFT, {}), (echo(), {})):
            async with pool.lease(entry, settings) as host:
                pids.append(await host.ping())
        assert len(set(pids)) == 3 and pids[0] == pids[3]
        assert pool.counts.made_room == 0


async def test_an_idle_host_of_another_kind_makes_room() -> None:
    async with pool_of(1) as pool:
        for entry in (PLANCRAFT, echo(), PLANCRAFT):
            async with pool.lease(entry, {}) as host:
                await host.ping()
        assert (pool.counts.made_room, pool.counts.started) == (2, 3)


async def test_more_chains_than_hosts_of_several_environments_all_finish() -> None:
    """Room for two small hosts, or for a large one alone."""
    small, large = echo(100), echo(180, name="large")
    async with pool_of(4, memory_mb=200) as pool:
        most, live = 0, 0

        async def chain(number: int) -> list[Step]:
            nonlocal most, live
            entry = large if number % 3 == 0 else small
            steps = []
            for _ in range(2):
                async with pool.lease(entry, {}) as host:
                    live += entry.memory_mb
                    most = max(most, live)
                    await host.reset(SAY)
                    steps.append(await host.step("hello"))
                    live -= entry.memory_mb
            return steps

        played = await asyncio.wait_for(asyncio.gather(*map(chain, range(6))), 120)
        assert sum(map(len, played)) == 12
        assert most <= 200


async def test_what_never_fits_is_told_at_once() -> None:
    async with pool_of(2, memory_mb=120) as pool:
        with pytest.raises(OrchestrationError, match=r"no host of plancraft fits: one needs 150 MB.* 120 MB"):
            async with pool.lease(PLANCRAFT, {}):
                pass
        async with pool.lease(echo(), {}) as host:
            assert (await host.reset(SAY)).text


async def test_short_memory_starts_no_host_but_waits_for_one() -> None:
    free = 150.0
    async with pool_of(4, free_mb=lambda: free) as pool:
        async with pool.lease(echo(), {}) as host:
            await host.reset(SAY)
            pid = await host.ping()
            waiting = asyncio.create_task(_pid_of_next(pool))
            await asyncio.sleep(0.3)
            assert not waiting.done()
        assert await waiting == pid
        assert pool.counts.started == 1


async def test_memory_that_becomes_free_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.05)
    free = 10.0
    async with pool_of(1, free_mb=lambda: free) as made:
        waiting = asyncio.create_task(_pid_of_next(made))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        free = 500.0
        assert await waiting


async def test_memory_that_never_comes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.05)
    async with pool_of(1, free_mb=lambda: 10.0, short_seconds=0.2) as made:
        with pytest.raises(
            OrchestrationError, match="memory has run out: a host of echo needs 100 MB, 10 MB are free"
        ):
            await _pid_of_next(made)
        assert made.counts.started == 0


async def _pid_of_next(pool: HostPool) -> int:
    async with pool.lease(echo(), {}) as host:
        return await host.ping()


async def test_a_cancelled_waiter_takes_no_host_with_it() -> None:
    async with pool_of(1) as pool:
        async with pool.lease(echo(), {}) as host:
            pid = await host.ping()
            waiters = [asyncio.create_task(_pid_of_next(pool)) for _ in range(3)]
            await asyncio.sleep(0)
            waiters[0].cancel()
        waiters[1].cancel()
        assert await waiters[2] == pid
        assert pool.counts.started == 1


async def test_what_is_free_here_leaves_a_reserve() -> None:
    assert 0 < free_here_mb() < psutil.virtual_memory().total / 2**20 - RESERVE_MB
