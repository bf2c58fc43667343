"""What an episode costs beside the model: the same episodes bare, with the stack, and under Prefect.

The backbone answers at once, with the same move back and forth, so that all time is ours.

- *bare*: environment and acting loop in this process, nothing is kept
- *stack*: Ray hosts, lake commits with their flushes, MLflow
- *prefect*: the same under the sweep flow, a task per chain, with its own server
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agents import registry as methods
from envs import registry as environments
from flows.planning import ChainPlan, Plan, plan
from flows.playing import play_chain
from flows.prefect_server import PrefectServer
from flows.quiet import quiet_services
from flows.runtime import Runtime, open_sweep, using
from flows.spec_file import parse_spec
from ocm.types import Files, Observation, Reply, Request, Step, TaskRef, Usage, Verdict
from tasks.act import Scene, act
from tasks.bench import EpisodeBench, World


class Instant:
    """A backbone that answers at once: an item goes there and back."""

    label = "scripted"
    model = "instant"

    async def complete(self, request: Request) -> Reply:
        there, back = ("I36", "I35") if request.call % 2 else ("I35", "I36")
        text = f"Action: move: from [{there}] to [{back}] with quantity 1"
        return Reply(text, "stop", Usage(), 0.0, 0.0, self.model)

    async def close(self) -> None: ...


class Local:
    """An environment in this process."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._environment = environments.create(name, settings)

    async def reset(self, task: TaskRef) -> Observation:
        return self._environment.reset(task)

    async def step(self, action: str) -> Step:
        return self._environment.step(action)


class NothingToVerify:
    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Row:
    """One way of playing all episodes; times per episode."""

    way: str
    episodes: int
    wall_ms: float
    driver_cpu_ms: float
    ratio_to_bare: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chains", type=int, default=24)
    parser.add_argument("--episodes", type=int, default=8, help="per chain; 30 steps each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    quiet_services()
    with tempfile.TemporaryDirectory(prefix="orchestration-") as folder:
        server = PrefectServer.start(Path(folder) / "prefect")
        try:
            rows = asyncio.run(measure(Path(folder), options.chains, options.episodes, server))
        finally:
            server.stop()
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(f"{options.chains} chains; per episode of 30 steps   wall ms   driver CPU ms   wall against bare")
    for row in rows:
        print(f"{row.way:38}{row.wall_ms:12.1f}{row.driver_cpu_ms:16.1f}{row.ratio_to_bare:20.1f}")


async def measure(folder: Path, chains: int, episodes: int, server: PrefectServer) -> list[Row]:
    """All three ways in one run, over the same tasks."""
    timed: list[tuple[str, float, float]] = []
    expanded = expand(folder, "bare", chains, episodes)
    timed.append(("bare", *await clocked(lambda: bare(expanded))))
    async with open_sweep(expand(folder, "stack", chains, episodes), again="the benchmark") as runtime:
        instant = with_instant(runtime)
        warm(runtime)
        timed.append(("stack", *await clocked(lambda: stack(instant))))
    await asyncio.to_thread(server.wait_ready)
    async with open_sweep(expand(folder, "prefect", chains, episodes), again="the benchmark") as runtime:
        from flows.sweep import sweep_here

        warm(runtime)
        shown = with_instant(runtime)
        with using(shown):
            timed.append(("prefect", *await clocked(lambda: sweep_here(shown))))
    count = chains * episodes
    floor = timed[0][1]
    return [Row(way, count, 1e3 * wall / count, 1e3 * cpu / count, wall / floor) for way, wall, cpu in timed]


def expand(folder: Path, name: str, chains: int, episodes: int) -> Plan:
    """ReAct chains on PlanCraft, so that learning, which is the method's, costs nothing."""
    table = {
        "name": name,
        "methods": ["react"],
        "environments": [{"name": "plancraft", "limit": episodes}],
        "backbones": ["scripted"],
        "seeds": list(range(chains)),
        "run": {"environment_hosts": 8},
        "storage": {"root": str(folder)},
    }
    return plan(parse_spec(table, name), {})


def warm(runtime: Runtime) -> None:
    """Begin to start the hosts, so that no episode waits for them."""
    key = runtime.plan.chains[0].key
    runtime.hosts.warm(environments.entry(key.environment), key.environment_settings, 8)


def with_instant(runtime: Runtime) -> Runtime:
    return replace(runtime, backbones={"scripted": Instant()})


async def clocked(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Seconds of wall time and of this process's CPU."""
    wall, cpu = time.perf_counter(), _cpu()
    await work()
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def bare(expanded: Plan) -> None:
    await asyncio.gather(*(_bare_chain(chain) for chain in expanded.chains))


async def _bare_chain(chain: ChainPlan) -> None:
    world = Local(chain.key.environment, chain.key.environment_settings)
    agent = methods.create(chain.key.agent, {})

    def lease() -> AbstractAsyncContextManager[World]:
        return nullcontext(world)

    for index, task in enumerate(chain.tasks):
        bench = EpisodeBench(Instant(), NothingToVerify(), lease, task, chain.id, index)
        first = await world.reset(task)
        await act(agent, world, Scene(task, chain.rules, chain.step_limit, {}, {}), first, bench)


async def stack(runtime: Runtime) -> None:
    await asyncio.gather(*(play_chain(runtime, chain) for chain in runtime.plan.chains))


if __name__ == "__main__":
    main()
