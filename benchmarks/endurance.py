"""Whether the driver's memory stays flat: thousands of real episodes, and its size every hundred.

Run ``python -m benchmarks.endurance [--episodes 5000] [--every 100] [--trace]``. Chains of OCM and ReAct
play PlanCraft side by side through everything that a sweep has: Ray hosts, sandbox, lake, MLflow, Prefect
and its server. The model is the scripted one. It prints the driver's memory after each hundred episodes, and
how much it grows per hundred once it is warm. ``--trace`` also prints which lines of Python hold more at the
end than when warm; tracing itself costs memory and time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import shutil
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flows.planning import Plan, plan
from flows.prefect_server import PrefectServer
from flows.progress import EpisodeEvent, Silent
from flows.quiet import quiet_services
from flows.runtime import open_sweep
from flows.spec_file import parse_spec

WARM = 0.2
"""Share of the episodes after which the driver counts as warm: all hosts have started, all code is loaded."""
SEEDS = 5
"""Of each of the two methods: ten chains side by side."""
TOP = 15
"""Lines that ``--trace`` prints."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The driver's memory after so many episodes of the run."""

    episodes: int
    seconds: float
    rss_kb: int
    pss_kb: int
    """As far as it is this process's own: pages that others share count in part."""
    objects: int
    """What Python's garbage collector knows, after a collection."""


@dataclass(slots=True)
class Sampler(Silent):
    """Takes a sample each time that so many more episodes are committed."""

    every: int
    trace_after: int | None = None
    samples: list[Sample] = field(default_factory=list)
    played: int = 0
    warm: tracemalloc.Snapshot | None = None
    started: float = field(default_factory=time.monotonic)

    def episode(self, event: EpisodeEvent) -> None:
        self.played += 1
        if self.played % self.every == 0:
            self._take()
        if self.played == self.trace_after:
            self.warm = tracemalloc.take_snapshot()

    def _take(self) -> None:
        gc.collect()
        seconds = time.monotonic() - self.started
        rss, pss = own_kb("status", "VmRSS"), own_kb("smaps_rollup", "Pss")
        sample = Sample(self.played, seconds, rss, pss, len(gc.get_objects()))
        self.samples.append(sample)
        print(_line(sample), flush=True)


def own_kb(file: str, name: str) -> int:
    """A line of ``/proc/self``, in kB."""
    lines = Path("/proc/self", file).read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def slope(samples: Sequence[Sample], warm: float = WARM) -> float:
    """Growth in kB per 100 episodes after the first share of them: Theil and Sen's, the median over all
    pairs of samples, which a garbage collection or a chain's end here and there does not move.

    NaN for fewer than two samples.
    """
    late = [one for one in samples if one.episodes > warm * samples[-1].episodes] if samples else []
    slopes = [
        100 * (b.pss_kb - a.pss_kb) / (b.episodes - a.episodes)
        for place, a in enumerate(late)
        for b in late[place + 1 :]
    ]
    return statistics.median(slopes) if slopes else math.nan


def expand(folder: Path, episodes: int) -> Plan:
    """Chains of OCM and ReAct, equally long, that come to so many episodes or slightly more."""
    table = {
        "name": "endurance",
        "methods": ["ocm", "react"],
        "environments": [
            {"name": "plancraft", "task_set": "val", "limit": math.ceil(episodes / 2 / SEEDS)},
        ],
        "backbones": ["scripted"],
        "seeds": list(range(SEEDS)),
        "storage": {"root": str(folder)},
    }
    return plan(parse_spec(table, "endurance"), {})


async def play(expanded: Plan, sampler: Sampler, server: PrefectServer) -> None:
    """All chains, under Prefect, in this process."""
    async with open_sweep(expanded, sampler, again="the benchmark") as runtime:
        await asyncio.to_thread(server.wait_ready)
        from flows.sweep import sweep_here

        outcome = await sweep_here(runtime)
    if not outcome.complete:
        raise SystemExit("; ".join(chain.message for chain in outcome.chains if chain.message))


def tell_lines(warm: tracemalloc.Snapshot, end: tracemalloc.Snapshot, hundreds: float) -> None:
    """The lines that hold most of what was added since the driver was warm."""
    for grown in end.compare_to(warm, "lineno")[:TOP]:
        print(
            f"{grown.size_diff / 1024 / hundreds:9.1f} kB/100 {grown.count_diff:+8} blocks {grown.traceback}"
        )


def _line(sample: Sample) -> str:
    return (
        f"{sample.episodes:>8} {sample.seconds:>8.0f} {sample.rss_kb / 1024:>9.1f} "
        f"{sample.pss_kb / 1024:>9.1f} {sample.objects:>10}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, default=5000, help=f"at most {2 * SEEDS * 570}")
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    options = parser.parse_args()
    quiet_services()
    folder = Path(tempfile.mkdtemp(prefix="endurance-", dir=options.folder))
    trace_after = round(WARM * options.episodes) if options.trace else None
    sampler = Sampler(options.every, trace_after)
    try:
        expanded = expand(folder, options.episodes)
        if options.trace:
            tracemalloc.start(6)
        print(f"{'episodes':>8} {'seconds':>8} {'RSS MB':>9} {'PSS MB':>9} {'objects':>10}", flush=True)
        server = PrefectServer.start(folder / "prefect")
        try:
            asyncio.run(play(expanded, sampler, server))
        finally:
            server.stop()
        print(f"growth when warm: {slope(sampler.samples):.0f} kB per 100 episodes (target: flat)")
        if sampler.warm is not None:
            gc.collect()
            hundreds = (sampler.played - (trace_after or 0)) / 100
            tell_lines(sampler.warm, tracemalloc.take_snapshot(), hundreds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
