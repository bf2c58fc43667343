"""What the lake costs: commits that do not slow down, and views as fast as bare DuckDB.

Run ``python -m benchmarks.lake [--steps 100000] [--commits 1000] [--folder FOLDER]``. It prints one
line per measurement with its target; times are the best of several, so that a busy machine disturbs
less. Episodes are synthetic: 30 steps, 32 model calls.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from knowledge_store.lake import sql
from knowledge_store.lake.files import chain_files
from knowledge_store.lake.paths import chains
from knowledge_store.lake.views import connect
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id, memory_hash
from ocm.types import (
    Call,
    ChainKey,
    Change,
    EndReason,
    Episode,
    MemoryUpdate,
    Message,
    Reply,
    Request,
    Step,
    TaskRef,
    Trajectory,
    Turn,
    TurnKind,
    UpdateOutcome,
    Usage,
    Validity,
)

STEPS_PER_EPISODE = 30
CHAINS = 24
PAIRS = 60
SUCCESS_RATE = "SELECT method, avg(success::INT) FROM episodes GROUP BY method ORDER BY method"
INVALID_RATE = "SELECT method, avg((validity <> 'valid')::INT) FROM steps GROUP BY method ORDER BY method"


def synthetic_key(number: int) -> ChainKey:
    """The key of one chain; four methods, six seeds."""
    return ChainKey(
        method=("ocm", "react", "reflexion", "expel")[number % 4],
        agent="ocm",
        method_settings={},
        environment="plancraft",
        environment_settings={},
        task_set="test.small",
        order="benchmark",
        backbone="scripted",
        backbone_settings={},
        seed=number // 4,
        prompts="",
    )


def synthetic_episode(key: ChainKey, index: int, memory: dict[str, str], files: int = 20) -> Episode:
    """One episode of 30 steps that rewrites one of so many memory files; ``memory`` is brought up to date."""
    chain = chain_id(key)
    draw = random.Random(f"{chain}/{index}")
    before = memory_hash(memory)
    change = Change(f"procedures/p{index % files}.py", f"from objects import Item\nNUMBER = {index}\n" * 20)
    memory[change.path] = change.content or ""
    return Episode(
        sweep="bench",
        chain=chain,
        index=index,
        key=key,
        trajectory=_trajectory(index, draw),
        update=MemoryUpdate(UpdateOutcome.COMMITTED, (change,), "{}"),
        calls=_calls(chain, index),
        memory_before=before,
        memory_after=memory_hash(memory),
        started_at=float(index),
        finished_at=float(index + 1),
        stages={"act": 1.0, "reflect": 0.2, "update": 0.2, "verify": 0.1},
    )


def _trajectory(index: int, draw: random.Random) -> Trajectory:
    won = draw.random() < 0.4
    last = STEPS_PER_EPISODE
    steps = tuple(
        Step(
            f"move: from [I{number}] to [A1] with quantity 1",
            f"inventory after step {number} of {index}: oak_planks [I{draw.randrange(36)}] x {number}",
            float(won and number == last),
            won and number == last,
            won and number == last,
            draw.choice(list(Validity)),
        )
        for number in range(1, last + 1)
    )
    turns = tuple(
        Turn(number, TurnKind.ACTION, "I need planks.", step.action, f"Action: {step.action}", number - 1)
        for number, step in enumerate(steps, 1)
    )
    task = TaskRef("plancraft", "test.small", f"task-{index:04d}", "easy")
    return Trajectory(task, "Craft planks.", "oak_log", steps, turns, (), EndReason.STEP_LIMIT)


def _calls(chain: str, episode: int) -> tuple[Call, ...]:
    messages: list[Message] = [Message("system", "You play a crafting game. " * 80)]
    calls = []
    for number in range(STEPS_PER_EPISODE + 2):
        messages.append(Message("user", f"inventory after step {number} of {episode}"))
        request = Request("act", tuple(messages), None, chain, episode, number)
        reply = Reply(f"Action: move {number}", "stop", Usage(900, 30), 0.0005, 0.3, "synthetic")
        calls.append(Call(request, reply))
        messages.append(Message("assistant", reply.text))
    return tuple(calls)


def best(work: Callable[[], object], rounds: int = 7) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def fetch(connection: duckdb.DuckDBPyConnection, statement: str) -> list[tuple[object, ...]]:
    """All rows of a statement."""
    return connection.execute(statement).fetchall()


def report(what: str, value: float, unit: str, target: str = "") -> None:
    print(f"{what:<58} {value:>10.2f} {unit:<4} {target}")


class LongChain:
    """One chain that is committed episode by episode."""

    def __init__(self, root: Path, key: ChainKey) -> None:
        self.key = key
        self.writer = ChainWriter(root, "bench", chain_id(key), key)
        self.memory: dict[str, str] = {}
        self.index = 0

    def commit(self) -> float:
        """Seconds that the next commit takes."""
        episode = synthetic_episode(self.key, self.index, self.memory)
        self.index += 1
        start = time.perf_counter()
        self.writer.commit(episode)
        return time.perf_counter() - start


def measure_commits(root: Path, count: int) -> None:
    """Cost of a commit at the beginning and at the end of one long chain."""
    long, short = LongChain(root, synthetic_key(0)), LongChain(root, synthetic_key(1))
    for _ in range(count - PAIRS):
        long.commit()
    for _ in range(5):
        short.commit()
    # in turns, so that other load on the machine disturbs both alike
    pairs = [(short.commit(), long.commit()) for _ in range(PAIRS)]
    early, late = (1000 * statistics.median(times) for times in zip(*pairs, strict=True))
    report(f"commit, median of the 6th to {5 + PAIRS}th", early, "ms")
    report(f"commit, median of the last {PAIRS} of {count}", late, "ms")
    report("ratio", late / early, "x", "target <= 1.3")
    report("resume of the long chain, every file verified", 1000 * best(long.writer.resume, 1), "ms")


def fill(root: Path, steps: int) -> list[ChainWriter]:
    """A lake of 24 chains with so many steps in all."""
    writers = []
    for number in range(CHAINS):
        key = synthetic_key(number)
        writer = ChainWriter(root, "bench", chain_id(key), key)
        memory: dict[str, str] = {}
        for index in range(max(1, steps // STEPS_PER_EPISODE // CHAINS)):
            writer.commit(synthetic_episode(key, index, memory))
        writers.append(writer)
    return writers


def measure_queries(root: Path, title: str) -> None:
    """The two group-bys through the views."""
    report(f"{title}: connect", 1000 * best(lambda: connect(root).close(), 3), "ms")
    with connect(root) as connection:
        for name, statement in (("SR by method", SUCCESS_RATE), ("invalid actions by method", INVALID_RATE)):
            seconds = best(partial(fetch, connection, statement))
            report(f"{title}: {name}", 1000 * seconds, "ms")


def measure_bare(root: Path) -> None:
    """The same group-bys by DuckDB on the same compacted Parquet files, without the views."""
    files = [chain_files(place) for place in chains(root, "bench")]
    with connect(root) as views, duckdb.connect() as bare:
        for table, statement in (("episodes", SUCCESS_RATE), ("steps", INVALID_RATE)):
            source = sql.parquet([one.flat[table] for one in files])
            direct = statement.replace(f"FROM {table}", f"FROM {source}")
            alone = best(partial(fetch, bare, direct), 15)
            through = best(partial(fetch, views, statement), 15)
            report(f"bare DuckDB: {table} by method", 1000 * alone, "ms")
            report("ratio of the view to it", through / alone, "x", "target <= 1.3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to write; a temporary folder by default"
    )
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lake-", dir=options.folder))
    try:
        measure_commits(folder / "commits", options.commits)
        start = time.perf_counter()
        writers = fill(folder / "queries", options.steps)
        report(f"writing {options.steps} steps", time.perf_counter() - start, "s")
        measure_queries(folder / "queries", "episode files")
        start = time.perf_counter()
        for writer in writers:
            writer.compact()
        report("compaction of one chain", 1000 * (time.perf_counter() - start) / len(writers), "ms")
        measure_queries(folder / "queries", "compacted")
        measure_bare(folder / "queries")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
