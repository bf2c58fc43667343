"""What a commit costs as a chain grows: around its 10th, 100th and 1,000th episode; and what a resume costs.

Run ``python -m benchmarks.commits [--commits 1000] [--folder FOLDER]`` on the disk that sweeps are to use:
the flushes are real. An episode has 30 steps and 32 model calls, the memory 100 files. Three chains of
different lengths are committed in turns, so that other load on the machine disturbs all alike; medians of
each part.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.lake import synthetic_episode, synthetic_key
from knowledge_store.lake import commits, record, writer
from knowledge_store.lake.reader import played
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id, memory_hash
from ocm.types import ChainKey, Change, Episode

FILES = 100
ROUNDS = 20
AT = (10, 100)
"""Episodes around which a commit is measured, beside the last."""
PARTS: dict[str, tuple[object, str]] = {
    "rows": (record, "to_table"),
    "parquet": (writer, "_parquet"),
    "flushes": (os, "fsync"),
    "record": (commits, "encode"),
    "checks": (writer, "_checked"),
}


class Chain:
    """A chain whose memory has its full size from the first episode on."""

    def __init__(self, root: Path, number: int) -> None:
        self.root = root
        self.key = synthetic_key(number)
        self.id = chain_id(self.key)
        self.writer = ChainWriter(root, "bench", self.id, self.key)
        self.memory: dict[str, str] = {}
        self.length = 1
        self.writer.commit(_first(self.key, self.memory))

    def commit(self, spent: dict[str, float]) -> None:
        """The next episode; adds the seconds of each part."""
        episode = synthetic_episode(self.key, self.length, self.memory, FILES)
        self.length += 1
        with timed(spent):
            started = time.perf_counter()
            self.writer.commit(episode)
            spent["whole"] = time.perf_counter() - started


def _first(key: ChainKey, memory: dict[str, str]) -> Episode:
    """The first episode, which writes all files."""
    episode = synthetic_episode(key, 0, memory, FILES)
    for number in range(FILES):
        memory[f"procedures/p{number}.py"] = f"from objects import Item\nNUMBER = {number}\n" * 20
    delta = tuple(Change(path, text) for path, text in memory.items())
    return replace(episode, update=replace(episode.update, delta=delta), memory_after=memory_hash(memory))


@contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """Each part of a commit, with a clock around it."""
    with ExitStack() as stack:
        for name, (place, attribute) in PARTS.items():
            stack.enter_context(
                patch.object(place, attribute, clocked(getattr(place, attribute), name, spent))
            )
        yield


def clocked(work: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - started

    return run


def measure(root: Path, lengths: tuple[int, ...]) -> list[dict[str, float]]:
    """Medians in ms of each part of the commits that come after so many."""
    chains = [Chain(root, number) for number in range(len(lengths))]
    for chain, length in zip(chains, lengths, strict=True):
        while chain.length < length - ROUNDS // 2:
            chain.commit({})
    rounds: list[list[dict[str, float]]] = [[] for _ in chains]
    for _ in range(ROUNDS):
        for chain, spent in zip(chains, rounds, strict=True):
            spent.append({})
            chain.commit(spent[-1])
    tell_resume(chains[-1])
    return [
        {part: 1000 * statistics.median(one[part] for one in spent) for part in ("whole", *PARTS)}
        for spent in rounds
    ]


def tell_resume(chain: Chain) -> None:
    """Once checking every file, and once reading every episode, as a run does that goes on."""
    started = time.perf_counter()
    ChainWriter(chain.root, "bench", chain.id, chain.key).resume()
    checked = time.perf_counter()
    for _ in played(chain.root, "bench", chain.id):
        pass
    read = time.perf_counter()
    print(f"resume at {chain.length}: {checked - started:.2f} s checking, {read - checked:.2f} s reading")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder by default")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="commits-", dir=options.folder))
    lengths = (*(at for at in AT if at < options.commits), options.commits)
    try:
        found = measure(folder, lengths)
    finally:
        shutil.rmtree(folder)
    print(f"{'ms':8}" + "".join(f"{f'at {length}':>10}" for length in lengths) + f"{'ratio':>10}")
    for part in ("whole", *PARTS):
        times = [one[part] for one in found]
        print(f"{part:8}" + "".join(f"{one:10.2f}" for one in times) + f"{times[-1] / times[0]:10.2f}")
    print("target: whole <= 1.3")


if __name__ == "__main__":
    main()
