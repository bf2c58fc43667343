"""What a chain has behind it when it goes on: MLflow is told what it missed, the rest is only counted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from knowledge_store.lake.outcomes import EpisodeOutcome
from knowledge_store.lake.reader import played
from tasks.track import ChainRun, Tracker

__all__ = ["catch_up"]


async def catch_up(
    tracker: Tracker, root: Path, sweep: str, chain: ChainRun, earlier: list[EpisodeOutcome]
) -> None:
    """Open a chain's run and tell it the committed episodes that it does not know.

    Those are read whole, one at a time: a long chain's trajectories are more than a driver should hold.

    Args:
        earlier: the chain's committed episodes, as :func:`~knowledge_store.lake.outcomes.outcomes` gives
            them.

    Raises:
        StorageError: a file of the lake is damaged.
    """
    known = min(await tracker.chain(chain), len(earlier))
    await tracker.earlier(chain.chain, earlier[:known])
    if known == len(earlier):
        return
    missing = played(root, sweep, chain.chain, start=known)
    while (one := await asyncio.to_thread(next, missing, None)) is not None:
        await tracker.episode(*one)
        await tracker.settle()
