"""Verification: one warm zygote against a fresh interpreter per procedure, alternating in one run.

``python -m benchmarks.verification [--json] [--counts 1,50,200]``. The fresh interpreter is
``python -I -S`` executing the same K_o and one procedure, without any protection, one after the other
(and as many at once as there are cores). Ratios above 1 say how many times faster the zygote is; the
machine's load falls on both sides of a pair alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from knowledge_store.sandbox import Sandbox, VerdictCache

ROUNDS = 3
SAMPLE = 20
"""Fresh interpreters per round; their time is scaled to the number of procedures."""

OBJECTS = '''
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    LOG = "log"
    PLANKS = "planks"


@dataclass
class Slot:
    """Mark {mark}."""

    index: int
    item: str = ""
    count: int = 0

    def take(self, number: int) -> int:
        if number > self.count:
            raise ValueError(f"slot {self.index} has {self.count}, not {number}")
        self.count -= number
        return self.count


@dataclass
class Inventory:
    slots: dict[int, Slot] = field(default_factory=dict)

    def put(self, index: int, item: str, count: int) -> Slot:
        self.slots[index] = Slot(index, item, count)
        return self.slots[index]

    def total(self, item: str) -> int:
        return sum(slot.count for slot in self.slots.values() if slot.item == item)
'''
PROCEDURE = '''
"""Procedure {i}: take planks from a slot."""
from objects import Inventory, Kind


def run(inventory: Inventory, count: int) -> int:
    """Take from slot {i}."""
    slot = inventory.put({i}, Kind.PLANKS.value, count)
    slot.take(1)
    return inventory.total("planks")


assert run(Inventory(), 5) == 4
'''
FRESH = """
import sys, types
objects, procedure = sys.argv[1:]
module = types.ModuleType("objects")
sys.modules["objects"] = module
exec(compile(objects, "objects.py", "exec"), module.__dict__)
exec(compile(procedure, "procedure.py", "exec"), {"__name__": "__main__"})
"""

Row = dict[str, float]


def procedures(count: int) -> dict[str, str]:
    """So many different procedures of 13 lines."""
    return {f"procedures/take_{i:04}.py": PROCEDURE.format(i=i) for i in range(count)}


def fresh(objects: str, source: str) -> int:
    """Exit status of one unprotected interpreter; raises when the code fails."""
    command = [sys.executable, "-I", "-S", "-c", FRESH, objects, source]
    return subprocess.run(command, check=True, env={}).returncode


def sequentially(objects: str, files: Mapping[str, str]) -> float:
    """Seconds for all files in fresh interpreters, one after the other; from a sample of them."""
    sample = list(files.values())[:SAMPLE]
    return _seconds(lambda: [fresh(objects, source) for source in sample]) * len(files) / len(sample)


def at_once(objects: str, files: Mapping[str, str]) -> float:
    """As :func:`sequentially`, with one interpreter per core at once."""
    sample = list(files.values())[:SAMPLE]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        seconds = _seconds(lambda: list(pool.map(lambda source: fresh(objects, source), sample)))
    return seconds * len(files) / len(sample)


def measure(sandbox: Sandbox, count: int) -> Row:
    """Medians over the rounds, in milliseconds, and the ratios."""
    cache = VerdictCache()
    files = procedures(count)
    warm, known, one, many = [], [], [], []
    for round_ in range(ROUNDS):
        objects = OBJECTS.replace("{mark}", str(round_))
        one.append(sequentially(objects, files))
        verify = partial(_all_pass, cache, sandbox, objects, files)
        warm.append(_seconds(verify))
        known.append(_seconds(verify))
        many.append(at_once(objects, files))
    zygote = statistics.median(warm)
    return {
        "procedures": count,
        "zygote_ms": zygote * 1000,
        "cached_ms": statistics.median(known) * 1000,
        "fresh_ms": statistics.median(one) * 1000,
        "fresh_parallel_ms": statistics.median(many) * 1000,
        "ratio": statistics.median(a / b for a, b in zip(one, warm, strict=True)),
        "ratio_parallel": statistics.median(a / b for a, b in zip(many, warm, strict=True)),
    }


def _all_pass(cache: VerdictCache, sandbox: Sandbox, objects: str, files: Mapping[str, str]) -> None:
    """Verify what is not known yet, as the verifier pool does."""
    known, missing = cache.split(objects, files)
    fresh = sandbox.verify(objects, missing) if missing else ()
    cache.add(objects, files, fresh)
    failed = [verdict for verdict in (*known, *fresh) if not verdict.ok]
    if failed:
        raise RuntimeError(f"the benchmark's own procedures must pass: {failed[0]}")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--counts", default="1,50,200", help="numbers of procedures")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with Sandbox() as sandbox:
        start = (time.perf_counter() - started) * 1000
        tier = sandbox.protections.tier
        rows = [measure(sandbox, int(count)) for count in arguments.counts.split(",")]
    if arguments.json:
        print(json.dumps(rows))
        return
    print(f"sandbox tier {tier}, started in {start:.0f} ms; {os.cpu_count()} cores; times in ms")
    print(" ".join(f"{name:>18}" for name in rows[0]))
    for row in rows:
        print(" ".join(f"{value:18.1f}" for value in row.values()))


if __name__ == "__main__":
    main()
