"""PlanCraft: construct and 30 steps, ours against the package's own wrapper; and a step through Ray.

Both get the same actions, in turn, in one process. Two scripts: *grid*, where half of the moves go to
the crafting grid, so that recipes are looked up; and *inventory*, where none does, which is where the
wrapper is at its best. *First* is a fresh process: imports and files are read.

Run: ``python -m benchmarks.plancraft [--rounds 10] [--json] [--no-ray]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from typing import Any

from envs import registry
from envs.host import EnvHost
from envs.plancraft.environment import STEP_LIMIT, PlancraftEnvironment
from envs.plancraft.slots import SLOT_NAMES
from ocm.types import TaskRef

TASK_SET = "test.small"
SCRIPTS = {"grid": 0.5, "inventory": 0.0}
"""The share of moves that go to the crafting grid."""
FIRST = {
    "ours": (
        "from envs.plancraft.environment import PlancraftEnvironment as E;"
        "e = E(); print(e.reset(e.tasks('test.small')[0]).text)"
    ),
    "theirs": (
        "from plancraft.simple import PlancraftGymWrapper as W, get_plancraft_examples as g;"
        "print(W(g('test.small')[0]).step('')[0]['text'])"
    ),
}


@dataclass(frozen=True)
class Row:
    """Milliseconds, medians over the rounds."""

    what: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--no-ray", action="store_true", help="leave the step through Ray out")
    options = parser.parse_args()
    rows = [_first(max(1, options.rounds // 3))]
    for name, share in SCRIPTS.items():
        rows += compare(name, script(share), options.rounds)
    hosted = {} if options.no_ray else asyncio.run(hosted_step())
    if options.json:
        print(json.dumps({"rows": [{**asdict(row), "ratio": row.ratio} for row in rows], "hosted": hosted}))
        return
    print(f"{'':34}{'ours ms':>10}{'wrapper ms':>12}{'ratio':>8}")
    for row in rows:
        print(f"{row.what:34}{row.ours:10.2f}{row.theirs:12.1f}{row.ratio:8.0f}")
    for what, milliseconds in hosted.items():
        print(f"{what:34}{milliseconds:10.2f}")


def compare(name: str, actions: Sequence[str], rounds: int) -> list[Row]:
    """Both sides in turn: construct with the first observation, then all steps."""
    example = next(one for one in _simple().get_plancraft_examples(TASK_SET) if one.id == _task().id)
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        times["ours"].append(_timed(_our_start, actions))
        times["theirs"].append(_timed(lambda: _their_start(example), actions))
    (our_start, our_steps), (their_start, their_steps) = (
        tuple(map(statistics.median, zip(*side, strict=True))) for side in times.values()
    )
    return [
        Row(f"{name}: construct + reset", our_start, their_start),
        Row(f"{name}: one step", our_steps / len(actions), their_steps / len(actions)),
        Row(f"{name}: construct + {len(actions)} steps", our_start + our_steps, their_start + their_steps),
    ]


def script(grid_share: float) -> list[str]:
    """Moves of single items to random slots, all possible, on a task that they cannot solve."""
    draw = random.Random(0)
    environment = PlancraftEnvironment()
    environment.reset(_task())
    actions: list[str] = []
    while len(actions) < STEP_LIMIT:
        source = draw.choice([slot for slot in environment.slots if slot])
        targets = range(1, 10) if draw.random() < grid_share else range(10, 46)
        target = draw.choice([slot for slot in targets if slot not in environment.slots] or [45])
        actions.append(f"move: from {SLOT_NAMES[source]} to {SLOT_NAMES[target]} with quantity 1")
        environment.step(actions[-1])
    return actions


async def hosted_step(steps: int = 1000) -> dict[str, float]:
    """Milliseconds of a step on a plain host, and through Ray."""
    from envs.policy import Limits
    from envs.pool import HostPool
    from flows.ray_session import ray_session

    action = "move: from [I1] to [I1] with quantity 1"
    plancraft = registry.entry("plancraft")
    plain = EnvHost(plancraft, {})
    started = time.perf_counter()
    for number in range(steps):
        if number % (STEP_LIMIT - 1) == 0:
            plain.reset(_task())
        plain.step(action)
    alone = time.perf_counter() - started
    with ray_session():
        pool = HostPool(Limits(1, 1e6, (1e6,)))
        async with pool.lease(plancraft, {}) as host:
            begun = time.perf_counter()
            await host.ping()
            start_up = time.perf_counter() - begun
            started = time.perf_counter()
            for number in range(steps):
                if number % (STEP_LIMIT - 1) == 0:
                    await host.reset(_task())
                await host.step(action)
            hosted = time.perf_counter() - started
        await pool.close()
    return {
        "step on a plain host": alone / steps * 1000,
        "step through Ray": hosted / steps * 1000,
        "start of a hosting actor": start_up * 1000,
    }


def _first(rounds: int) -> Row:
    """A fresh process up to the first observation."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        for side, code in FIRST.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            times[side].append((time.perf_counter() - started) * 1000)
    return Row("first observation, new process", *(statistics.median(side) for side in times.values()))


def _timed(start: Callable[[], Callable[[str], object]], actions: Sequence[str]) -> tuple[float, float]:
    """Milliseconds to the first observation, and of all steps."""
    begun = time.perf_counter()
    step = start()
    started = time.perf_counter()
    for action in actions:
        step(action)
    return (started - begun) * 1000, (time.perf_counter() - started) * 1000


def _our_start() -> Callable[[str], object]:
    environment = PlancraftEnvironment()
    environment.reset(_task())
    return environment.step


def _their_start(example: Any) -> Callable[[str], object]:
    wrapper = _simple().PlancraftGymWrapper(deepcopy(example))
    wrapper.step("")
    step: Callable[[str], object] = wrapper.step
    return step


@cache
def _task() -> TaskRef:
    tasks = PlancraftEnvironment().tasks(TASK_SET)
    return next(task for task in tasks if task.stratum == "impossible")


def _simple() -> Any:
    """The package's module; it has no types."""
    return import_module("plancraft.simple")


if __name__ == "__main__":
    main()
