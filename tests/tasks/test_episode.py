"""One whole episode with a fake host, a scripted backbone and a fake sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

import pytest

from agents.registry import create
from knowledge_store.memory import apply
from ocm.errors import EnvironmentFault, SandboxError
from ocm.identity import memory_hash
from ocm.types import (
    ChainKey,
    Files,
    Observation,
    Step,
    TaskRef,
    Trajectory,
    TurnKind,
    UpdateOutcome,
    Validity,
    Verdict,
)
from tasks.act import Scene, act
from tasks.bench import EpisodeBench, StageRunner, World, run_plainly
from tasks.episode import Setting, note_use, play_episode
from tests.tasks.test_act import FIRST, MEMORY, TASK, Corridor, NoVerifier, Script

T = TypeVar("T")
PLAN = json.dumps({"objects": [{"action": "create", "name": "Key"}]})
CODE = "### objects.py\n```python\nclass Key:\n    pass\n```"


class Sandbox:
    """Passes everything, or breaks."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        if self._error:
            raise self._error
        return tuple(Verdict(path, True, "ok") for path in procedures)


class Hosts:
    """Leases a corridor; the first ``faults`` of them die at their second step."""

    def __init__(self, faults: int = 0) -> None:
        self._faults = faults
        self.leased = self.returned = 0

    def __call__(self) -> Hosts:
        return self

    async def __aenter__(self) -> World:
        self.leased += 1
        return Dying() if self.leased <= self._faults else Corridor()

    async def __aexit__(self, *error: object) -> None:
        self.returned += 1


class Dying(Corridor):
    async def step(self, action: str) -> Step:
        if self.actions:
            raise EnvironmentFault("the simulator died", task="t1")
        return await super().step(action)


def nowhere() -> AbstractAsyncContextManager[World]:
    raise AssertionError("no rehearsal is asked for")


def setting(script: Script, hosts: Hosts, verifier: Any = None, method: str = "ocm", **more: Any) -> Setting:
    key = ChainKey(method, "ocm", {}, "fake", {}, "set", "benchmark", "script", {}, 0, "")
    agent = create(method, {})
    return Setting(
        "sweep",
        "chain",
        key,
        agent,
        script,
        verifier or Sandbox(),
        hosts,
        "Rules.",
        10,
        {"python": "3"},
        **more,
    )


async def test_a_whole_episode() -> None:
    hosts, script = Hosts(), Script("Inspect[Door]", "Action: go", "Action: win", PLAN, CODE)
    episode = await play_episode(setting(script, hosts), 4, TASK, MEMORY, {})
    assert episode.update.outcome is UpdateOutcome.COMMITTED and episode.trajectory.success
    assert episode.memory_before == memory_hash(MEMORY)
    assert episode.memory_after == memory_hash(apply(MEMORY, episode.update.delta)) != episode.memory_before
    assert [call.request.purpose for call in episode.calls] == ["act", "act", "act", "reflect", "update"]
    assert [call.request.call for call in episode.calls] == [0, 1, 2, 3, 4]
    assert episode.acting_calls == 3
    assert {(call.request.chain, call.request.episode) for call in episode.calls} == {("chain", 4)}
    assert list(episode.stages) == ["act", "reflect", "update", "verify"]
    assert 0 <= sum(episode.stages.values()) <= episode.finished_at - episode.started_at + 0.1
    assert episode.provenance == {"python": "3", "backbone_model": "script-1", "backbone_fingerprint": ""}
    assert (episode.index, episode.attempt, hosts.returned) == (4, 1, 1)


async def test_a_method_without_memory() -> None:
    episode = await play_episode(setting(Script("Action: win"), Hosts(), method="react"), 0, TASK, {}, {})
    assert episode.update.outcome is UpdateOutcome.UNCHANGED
    assert episode.memory_before == episode.memory_after and list(episode.stages) == ["act"]


async def test_a_host_that_dies_starts_the_episode_again() -> None:
    hosts, script = (
        Hosts(faults=1),
        Script("Action: go", "Action: go", "Action: go", "Action: win", PLAN, CODE),
    )
    episode = await play_episode(setting(script, hosts), 0, TASK, MEMORY, {})
    assert (episode.attempt, hosts.leased, hosts.returned) == (2, 2, 2)
    assert [s.action for s in episode.trajectory.steps] == ["go", "win"]
    assert [call.request.call for call in episode.calls] == [0, 1, 2, 3]


async def test_the_last_fault_is_told_with_its_details() -> None:
    hosts, script = Hosts(faults=9), Script(*["Action: go"] * 6)
    with pytest.raises(
        EnvironmentFault, match=r"episode 2 \(t1\) of chain failed 3 times: the simulator"
    ) as caught:
        await play_episode(setting(script, hosts), 2, TASK, MEMORY, {})
    assert caught.value.details == {"task": "t1"} and hosts.leased == 3


async def test_a_broken_sandbox_is_no_verdict() -> None:
    script = Script("Action: win", PLAN, CODE)
    with pytest.raises(SandboxError):
        await play_episode(setting(script, Hosts(), Sandbox(SandboxError("gone"))), 0, TASK, MEMORY, {})


async def test_a_stage_runner_sees_every_stage() -> None:
    seen: list[str] = []

    class Shown:
        async def __call__(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
            seen.append(name)
            return await work()

    shown: StageRunner = Shown()
    script = Script("Action: win", PLAN, CODE)
    await play_episode(setting(script, Hosts(), run_stage=shown), 0, TASK, MEMORY, {})
    assert seen == ["act", "reflect", "update", "verify"]


async def test_the_seconds_of_a_stage_add_up_also_when_it_fails() -> None:
    bench = EpisodeBench(Script(), NoVerifier(), nowhere, TASK, "chain", 0)

    async def work() -> None:
        await asyncio.sleep(0.02)
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            await bench.stage("update", work)
    assert 0.04 <= bench.stages["update"] < 0.4
    assert await run_plainly("x", lambda: asyncio.sleep(0, 7)) == 7


async def test_use_is_noted() -> None:
    script = Script("Inspect[Door, Nothing]", "Action: win", PLAN, CODE)
    episode = await play_episode(setting(script, Hosts()), 5, TASK, MEMORY, {"procedures/open.py": 2})
    assert note_use({"procedures/open.py": 2, "Door": 1}, episode) == {
        "procedures/open.py": 2,
        "Door": 5,
        "objects.py": 5,
    }


async def test_a_rehearsal_is_another_world_and_its_steps_are_counted_apart() -> None:
    world = Corridor()
    bench = EpisodeBench(Script(), NoVerifier(), lambda: nullcontext(world), TASK, "chain", 0)
    for _ in range(2):
        async with bench.rehearse() as rehearsal:
            assert await rehearsal.reset() == FIRST
            assert (await rehearsal.step("go")).observation
    assert bench.rehearsal_steps == 2 and world.actions == ["go", "go"]


async def test_steps_of_a_rehearsal_that_fails_are_counted_too() -> None:
    hosts = Hosts(faults=1)
    bench = EpisodeBench(Script(), NoVerifier(), hosts, TASK, "chain", 0)
    with pytest.raises(EnvironmentFault):
        async with bench.rehearse() as rehearsal:
            for _ in range(3):
                await rehearsal.step("go")
    assert bench.rehearsal_steps == 2 and hosts.returned == 1


async def test_executed_code_stands_alone() -> None:
    asked: list[tuple[str, Files]] = []

    class Executes:
        async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
            asked.append((objects, procedures))
            return tuple(Verdict(path, True, "ok", output="7\n") for path in procedures)

    bench = EpisodeBench(Script(), Executes(), nowhere, TASK, "chain", 0)
    assert (await bench.execute("program.py", "print(7)")).output == "7\n"
    assert asked == [("", {"program.py": "print(7)"})]


# --- any replies -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
async def test_any_replies_end_within_the_limits(seed: int) -> None:
    """30 random mixes of good, bad and inspecting replies."""
    import random

    pool = ["Action: go", "hm", "", "Inspect[Door]", "Action: fly", "Inspect[", "<think>", '{"action": "go"}']
    chosen = random.Random(seed).choices(pool, k=400)
    script, world = Script(*chosen), Corridor()
    bench = EpisodeBench(script, NoVerifier(), nowhere, TASK, "chain", 0)
    scene = Scene(TaskRef("fake", "set", "t", "easy"), "Rules.", 12, MEMORY, {})
    played: Trajectory = await act(create("ocm", {}), world, scene, Observation("g", "o"), bench)
    malformed = played.count(Validity.MALFORMED)
    assert len(played.steps) == 12 and len(world.actions) == 12 - malformed
    assert len(played.inspections) <= 15
    for number in range(1, 13):
        turns = [turn.kind for turn in played.turns if turn.step == number]
        assert turns.count(TurnKind.INSPECT) <= 3
        assert turns[-1] is not TurnKind.INSPECT
        assert (turns[-2:] == [TurnKind.MALFORMED] * 2) == (
            played.steps[number - 1].validity is Validity.MALFORMED
        )
    assert [turn.call for turn in played.turns] == list(range(len(bench.calls)))


async def test_first_observation_is_what_the_host_says() -> None:
    episode = await play_episode(setting(Script("Action: win"), Hosts(), method="react"), 0, TASK, {}, {})
    assert (episode.trajectory.goal, episode.trajectory.first_observation) == (FIRST.goal, FIRST.text)
