"""Replays a fake chain into MLflow; run as a program, so that a test can kill it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ocm.types import Episode, Files
from tasks.track import ChainRun, Tracker
from tests.lake.fake import apply, fake_chain, fake_key

KEY = fake_key(settings={"max_repairs": 2, "long": "x" * 9000})


def told(count: int) -> list[tuple[Episode, Files]]:
    """The first episodes of the chain, each with the memory after it."""
    return list(_told(count))


def _told(count: int) -> Iterator[tuple[Episode, Files]]:
    memory: Files = {}
    for episode in fake_chain(KEY, count):
        memory = apply(memory, episode.update.delta)
        yield episode, memory


def chain_run(planned: int) -> ChainRun:
    episode = told(1)[0][0]
    return ChainRun(episode.chain, KEY, planned, episode.started_at)


def tracker(uri: str, root: Path, experiment: str = "ocm") -> Tracker:
    return Tracker(uri, experiment, "demo", root / "demo" / "mlflow.json")


async def opened(uri: str, root: Path, experiment: str = "ocm") -> Tracker:
    one = tracker(uri, root, experiment)
    await one.open({"chains": 1, "seeds": [0]}, {"ocm.sweep": "demo"}, {"spec.json": "{}"})
    return one


async def replay(tracker: Tracker, chain: ChainRun, episodes: Iterable[tuple[Episode, Files]]) -> int:
    """Tell MLflow a whole chain: (episode, memory after it) in order from 0.

    Returns:
        The number of episodes that MLflow did not know.
    """
    known = await tracker.chain(chain)
    told = 0
    memory: Files = {}
    for episode, memory in episodes:
        await tracker.episode(episode, memory)
        told += episode.index >= known
    await tracker.finish_chain(chain.chain, "complete", memory)
    return told


async def main(uri: str, root: Path, count: int) -> None:
    one = await opened(uri, root)
    print("open", flush=True)
    await replay(one, chain_run(count), _told(count))
    await one.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
