"""ScienceWorld on a Ray host: its JVM lives and dies with it, and an episode can be played again."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from envs import registry
from envs.handle import Host
from ocm.errors import EnvironmentFault
from tests.envs.test_env_pool import gone, pool_of, started_by

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("ray_session")]

ENTRY = registry.entry("scienceworld")
TASK = registry.create("scienceworld", {}).tasks("test.first5")[0]
ACTIONS = ("look around", "open door to kitchen", "go to kitchen", "look around", "inventory")


async def played(host: Host, actions: tuple[str, ...] = ACTIONS) -> list[str]:
    """What is seen from the task's start on."""
    first = await host.reset(TASK)
    return [first.text, *[(await host.step(action)).observation for action in actions]]


async def test_a_host_that_is_killed_takes_its_jvm_along_and_the_episode_is_the_same_again() -> None:
    async with pool_of(1) as pool:
        async with pool.lease(ENTRY, {}) as host:
            undisturbed = await played(host)
        with pytest.raises(EnvironmentFault, match="scienceworld's host died at step"):
            async with pool.lease(ENTRY, {}) as host:
                await played(host, ACTIONS[:2])
                process = await host.ping()
                jvm = started_by(process)
                assert [psutil.Process(pid).name() for pid in jvm] == ["java"]
                os.kill(process, signal.SIGKILL)
                await host.step("inventory")
        assert await gone(*jvm)
        async with pool.lease(ENTRY, {}) as host:
            assert await played(host) == undisturbed


async def test_the_jvm_counts_as_the_hosts_memory_and_ends_when_the_pool_closes() -> None:
    async with pool_of(1) as pool, pool.lease(ENTRY, {}) as host:
        before = await host.memory_mb()
        await played(host)
        (jvm,) = started_by(await host.ping())
        taken = psutil.Process(jvm).memory_full_info().pss / 2**20
        assert await host.memory_mb() >= before + 0.9 * taken > before + 90
        assert await host.memory_mb() < ENTRY.memory_mb
    assert await gone(jvm)
