"""The pool with real Ray actors: reuse, recycling, death, deadlines, fairness."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from envs.pool import HostPool
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import TaskRef, Validity

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("ray_session")]

TASK = TaskRef("plancraft", "test.small", "TEST0487", "easy")
SMELT = "smelt: from [I6] to [I36] with quantity 1"


@asynccontextmanager
async def pool_of(size: int, **settings: Any) -> AsyncIterator[HostPool]:
    pool = HostPool(size, **settings)
    try:
        yield pool
    finally:
        await pool.close()


async def gone(pid: int) -> bool:
    """Whether the process ends within some seconds."""
    for _ in range(100):
        if not alive(pid):
            return True
        await asyncio.sleep(0.1)
    return False


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_an_episode_is_played_and_the_host_stays_warm() -> None:
    async with pool_of(1) as pool:
        pids = []
        for _ in range(2):
            async with pool.lease() as host:
                observation = await host.reset("plancraft", {}, TASK)
                assert observation.goal == "Craft an item of type: coal"
                step = await host.step(SMELT)
                assert step.success and step.done and step.validity is Validity.VALID
                pids.append(await host.ping())
        assert pids[0] == pids[1] != os.getpid()
    assert await gone(pids[0])


async def test_errors_cross_ray_as_they_are_and_the_host_is_replaced() -> None:
    async with pool_of(1) as pool:
        async with pool.lease() as host:
            first = await host.ping()
            with pytest.raises(SpecError, match="did you mean plancraft") as spec_error:
                await host.reset("plancrat", {}, TASK)
            assert type(spec_error.value) is SpecError
        async with pool.lease() as host:
            assert await host.ping() != first
            with pytest.raises(EnvironmentFault, match="call reset before step") as fault:
                await host.step("move")
            assert type(fault.value) is EnvironmentFault


async def test_a_host_killed_in_mid_episode_is_a_fault_and_is_replaced() -> None:
    async with pool_of(1) as pool:
        with pytest.raises(EnvironmentFault, match="died at step"):
            async with pool.lease() as host:
                await host.reset("plancraft", {}, TASK)
                dead = await host.ping()
                os.kill(dead, signal.SIGKILL)
                await host.step(SMELT)
        async with pool.lease() as host:
            await host.reset("plancraft", {}, TASK)
            assert (await host.step(SMELT)).success
            assert await host.ping() != dead


async def test_a_host_that_hangs_is_killed_at_the_deadline() -> None:
    async with pool_of(1, deadline=60.0) as pool:
        with pytest.raises(EnvironmentFault, match=r"did not answer step within 0\.5 s"):
            async with pool.lease() as host:
                await host.reset("plancraft", {}, TASK)
                stuck = await host.ping()
                host._deadline = 0.5
                os.kill(stuck, signal.SIGSTOP)
                await host.step(SMELT)
        async with pool.lease() as host:
            assert await host.ping() != stuck
        assert await gone(stuck)


async def test_a_cancelled_call_costs_the_host_and_not_the_pool() -> None:
    async with pool_of(1) as pool:
        pids: list[int] = []

        async def episode() -> None:
            async with pool.lease() as host:
                await host.reset("plancraft", {}, TASK)
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
        async with pool.lease() as host:
            assert await host.ping() != pids[0]


@pytest.mark.parametrize(
    "settings", [{"recycle_after": 2}, {"memory_limit_mb": 1.0}], ids=["by episodes", "by memory"]
)
async def test_hosts_are_recycled(settings: dict[str, Any]) -> None:
    async with pool_of(1, **settings) as pool:
        pids = []
        for _ in range(3):
            async with pool.lease() as host:
                await host.reset("plancraft", {}, TASK)
                pids.append(await host.ping())
        assert pids[1] != pids[2]
        assert (pids[0] == pids[1]) is ("recycle_after" in settings)
        assert await gone(pids[1])


async def test_waiting_is_first_come_first_served() -> None:
    async with pool_of(1) as pool:
        order: list[int] = []

        async def episode(number: int) -> None:
            async with pool.lease() as host:
                order.append(number)
                await host.reset("plancraft", {}, TASK)

        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(episode(number))
                await asyncio.sleep(0)
        assert order == list(range(12))


async def test_no_more_hosts_than_the_size() -> None:
    async with pool_of(2) as pool:
        pids: set[int] = set()

        async def episode() -> None:
            async with pool.lease() as host:
                await host.reset("plancraft", {}, TASK)
                pids.add(await host.ping())

        await asyncio.gather(*(episode() for _ in range(8)))
        assert len(pids) == 2


async def test_warm_hosts_are_there_before_they_are_asked_for() -> None:
    async with pool_of(2) as pool:
        pool.warm(2)
        async with pool.lease() as host:
            await host.ping()
        started = time.monotonic()
        async with pool.lease() as host:
            await host.reset("plancraft", {}, TASK)
        assert time.monotonic() - started < 2


async def test_closing_ends_hosts_in_use_and_refuses_new_leases() -> None:
    pool = HostPool(1)
    async with pool.lease() as host:
        pid = await host.ping()
        await pool.close()
        with pytest.raises(EnvironmentFault, match="died"):
            await host.step(SMELT)
    assert await gone(pid)
    with pytest.raises(EnvironmentFault, match="closed"):
        async with pool.lease():
            pass
    await pool.close()


async def test_the_episodes_memory_stays_flat() -> None:
    async with pool_of(1) as pool, pool.lease() as host:
        await host.reset("plancraft", {}, TASK)
        before = await host.memory_mb()
        for _ in range(100):
            await host.reset("plancraft", {}, TASK)
            await host.step(SMELT)
        assert await host.memory_mb() < before + 10
