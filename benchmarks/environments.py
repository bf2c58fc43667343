"""Each environment through a host on Ray against its simulator's bare call, and what a host takes.

Host and contender get the same tasks and the same seeded actions (the environment's probe), in turn, in
processes of their own that start together: a JVM becomes faster with use. Resets are not in the times.
Contenders are:

* PlanCraft, *bare*: our own table, called in the process, since the package has no text-only call. A step
  takes microseconds there, so the ratio shows what Ray costs.
* ScienceWorld, *bare*: ``step`` of the package's server object; *package*: ``ScienceWorldEnv.step``, which
  lists all valid actions each time. Their JVM gets the options of ours.
* ALFWorld, *bare*: the engine's ``step`` with our patches of its parsers; *package*: the engine as it comes.

Each task is played several times by each; of every single step the fastest counts, so that a busy machine
disturbs less. Target: through the host, ScienceWorld and ALFWorld make 0.9 times as many steps per second as
bare.

Run: ``python -m benchmarks.environments [NAME ...] [--rounds 5] [--steps 40] [--tasks 3] [--episodes 12]
[--json]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

from envs import registry
from envs.handle import Host
from envs.registry import EnvironmentEntry
from ocm.errors import SpecError
from ocm.identity import generator
from ocm.types import TaskRef

Starter = Callable[[TaskRef], Callable[[str], object]]
"""Begins a task, and gives what carries out one action."""


@dataclass(frozen=True)
class Speed:
    """One contender against the host."""

    environment: str
    contender: str
    theirs: float
    """Milliseconds per step, the fastest of the rounds."""
    ours: float
    """The same through the host."""

    @property
    def ratio(self) -> float:
        """Steps per second through the host, as a multiple of the contender's."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Memory:
    """What a host takes, in MB, and what the registry promises."""

    environment: str
    first_episode: float
    all_episodes: float
    episodes: int
    registered: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(registry.names()))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="per task, at most")
    parser.add_argument("--tasks", type=int, default=3, help="played in each round")
    parser.add_argument("--episodes", type=int, default=12, help="played before memory is looked at")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    speeds, memories, skipped = asyncio.run(measure(options))
    if options.json:
        rows = [{**asdict(row), "ratio": row.ratio} for row in speeds]
        figures = {"speeds": rows, "memory": list(map(asdict, memories))}
        print(json.dumps({**figures, "skipped": skipped}))
        return
    print(f"{'':14}{'contender':12}{'ms/step':>10}{'host ms/step':>14}{'host is … times as fast':>26}")
    for row in speeds:
        print(f"{row.environment:14}{row.contender:12}{row.theirs:10.2f}{row.ours:14.2f}{row.ratio:26.2f}")
    print(f"\n{'MB per host':26}{'1 episode':>12}{'all of them':>14}{'registered':>12}")
    for one in memories:
        name = f"{one.environment} ({one.episodes})"
        print(f"{name:26}{one.first_episode:12.0f}{one.all_episodes:14.0f}{one.registered:12.0f}")
    for name, reason in skipped.items():
        print(f"{name}: skipped: {reason}")


async def measure(options: argparse.Namespace) -> tuple[list[Speed], list[Memory], dict[str, str]]:
    """All speeds and memories, and why an environment was skipped."""
    from flows.ray_session import ray_session

    speeds: list[Speed] = []
    memories: list[Memory] = []
    skipped: dict[str, str] = {}
    with ray_session():
        for entry in map(registry.entry, options.names):
            try:
                chosen = sample(entry, max(options.tasks, options.episodes))
            except SpecError as error:
                skipped[entry.name] = str(error)
                continue
            for name in CONTENDERS[entry.name]:
                async with _fresh_host(entry) as host:
                    speeds.append(await race(entry, name, host, chosen[: options.tasks], options))
            async with _fresh_host(entry) as host:
                memories.append(await growth(entry, host, chosen[: options.episodes]))
    return speeds, memories, skipped


@asynccontextmanager
async def _fresh_host(entry: EnvironmentEntry) -> AsyncIterator[Host]:
    from flows.hosting import host_pool

    pool = host_pool([entry], hosts=1)
    try:
        async with pool.lease(entry, {}) as host:
            yield host
    finally:
        await pool.close()


def sample(entry: EnvironmentEntry, count: int) -> list[TaskRef]:
    """Some tasks of the first task set that is on this machine.

    Raises:
        SpecError: the environment is not installed.
    """
    environment = registry.create(entry.name, {})
    try:
        for task_set in (entry.default_task_set, *entry.task_sets):
            try:
                tasks = list(environment.tasks(task_set))
            except SpecError:
                continue
            return generator("benchmark", entry.name).sample(tasks, min(count, len(tasks)))
    finally:
        environment.close()
    raise SpecError(f"no task set of {entry.name} is on this machine; `ocm tasks {entry.name}` says why")


async def race(
    entry: EnvironmentEntry, name: str, host: Host, tasks: Sequence[TaskRef], options: argparse.Namespace
) -> Speed:
    """The host and one contender in turn, on each task several times."""
    starter = CONTENDERS[entry.name][name]
    theirs = ours = count = 0.0
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        for task in tasks:
            actions = await recorded(entry, host, task, options.steps)
            count += len(actions)
            rounds = [
                (await _elsewhere(process, starter, task, actions), await hosted(host, task, actions))
                for _ in range(options.rounds)
            ]
            bests = [sum(map(min, zip(*side, strict=True))) for side in zip(*rounds, strict=True)]
            theirs, ours = theirs + bests[0], ours + bests[1]
    return Speed(entry.name, name, theirs / count, ours / count)


async def recorded(entry: EnvironmentEntry, host: Host, task: TaskRef, steps: int) -> list[str]:
    """The probe's actions, but for one that ends the episode."""
    probe = registry.probe(entry)
    assert probe is not None
    draw = generator("benchmark", entry.name, task.id)
    seen = [(await host.reset(task)).text]
    actions: list[str] = []
    while len(actions) < steps:
        step = await host.step(action := probe(seen, draw))
        if step.done:
            break
        actions.append(action)
        seen.append(step.observation)
    return actions


async def hosted(host: Host, task: TaskRef, actions: Sequence[str]) -> list[float]:
    """Milliseconds of each step through the host."""
    await host.reset(task)
    times = [time.perf_counter()]
    for action in actions:
        await host.step(action)
        times.append(time.perf_counter())
    return _differences(times)


async def growth(entry: EnvironmentEntry, host: Host, tasks: Sequence[TaskRef]) -> Memory:
    """Memory of a host after one episode and after all."""
    taken = []
    for task in tasks:
        await recorded(entry, host, task, steps=20)
        taken.append(await host.memory_mb())
    return Memory(entry.name, taken[0], taken[-1], len(tasks), entry.memory_mb)


# --- contenders, each in a process of its own --------------------------------------------------


async def _elsewhere(
    process: Executor, starter: Starter, task: TaskRef, actions: Sequence[str]
) -> list[float]:
    return await asyncio.get_running_loop().run_in_executor(process, _timed, starter, task, list(actions))


def _timed(starter: Starter, task: TaskRef, actions: Sequence[str]) -> list[float]:
    """Milliseconds of each step."""
    step = starter(task)
    times = [time.perf_counter()]
    for action in actions:
        step(action)
        times.append(time.perf_counter())
    return _differences(times)


def _differences(times: Sequence[float]) -> list[float]:
    return [(after - before) * 1000 for before, after in pairwise(times)]


def plancraft_bare(task: TaskRef) -> Callable[[str], object]:
    environment = registry.create("plancraft", {})
    environment.reset(task)
    return environment.step


def scienceworld_bare(task: TaskRef) -> Callable[[str], object]:
    world = _scienceworld_package()
    name, variation = task.id.split("/")
    world.server.load(name, int(variation), "", False)
    world.server.step("look around")
    step: Callable[[str], object] = world.server.step
    return step


def scienceworld_package(task: TaskRef) -> Callable[[str], object]:
    world = _scienceworld_package()
    name, variation = task.id.split("/")
    world.load(name, int(variation), "")
    world.reset()
    step: Callable[[str], object] = world.step
    return step


@cache
def _scienceworld_package() -> Any:
    from envs.scienceworld.jvm import OPTIONS, java

    os.environ["PATH"] = f"{java().parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["JAVA_TOOL_OPTIONS"] = " ".join(OPTIONS)
    from scienceworld import ScienceWorldEnv

    return ScienceWorldEnv("")


def alfworld_bare(task: TaskRef) -> Callable[[str], object]:
    return _alfworld_engine(task, patched=True)


def alfworld_package(task: TaskRef) -> Callable[[str], object]:
    return _alfworld_engine(task, patched=False)


def _alfworld_engine(task: TaskRef, patched: bool) -> Callable[[str], object]:
    from envs.alfworld import dataset, own
    from envs.alfworld.game import read_game

    engine = _engine(patched)
    path = dataset.game_file(task.task_set, task.id, dataset.data_folder())
    engine.start(read_game(path) if path else own.game(task.id))
    step: Callable[[str], object] = engine._world.step  # the package's own object, without our Scene
    return step


@cache
def _engine(patched: bool) -> Any:
    from envs.alfworld.engine import Engine

    return Engine(patched)


CONTENDERS: Mapping[str, Mapping[str, Starter]] = {
    "plancraft": {"bare": plancraft_bare},
    "scienceworld": {"bare": scienceworld_bare, "package": scienceworld_package},
    "alfworld": {"bare": alfworld_bare, "package": alfworld_package},
}


if __name__ == "__main__":
    main()
