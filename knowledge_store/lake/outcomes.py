"""What a chain that goes on must know of its earlier episodes, without reading what they said.

A trajectory and its prompts are most of an episode's file, and a resume needs none of them: a few columns
take a thirtieth of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from knowledge_store.lake import commits, disk
from knowledge_store.lake.commits import Commit
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.root import open_for_reading
from knowledge_store.lake.text import unescape

__all__ = ["EpisodeOutcome", "outcomes"]

_COLUMNS = ("success", "reward", "invalid_actions", "escaped", "inspections.list.element.found")


@dataclass(frozen=True, slots=True)
class EpisodeOutcome:
    """A committed episode in a few figures; its names are those of :class:`~ocm.types.Episode`."""

    index: int
    success: bool
    reward: float
    invalid_actions: int
    used: tuple[str, ...]
    """Knowledge that it inspected or wrote."""
    started_at: float
    finished_at: float
    """Seconds since the epoch, UTC."""


def outcomes(root: Path, sweep: str, chain: str) -> list[EpisodeOutcome]:
    """The outcome of every committed episode of a chain, in order; none for one that never began.

    Raises:
        StorageError: a record or a file is damaged.
    """
    open_for_reading(root)
    paths = ChainPaths(root, sweep, chain)
    return [_outcome(paths, commit) for commit in commits.read_all(paths)]


def _outcome(paths: ChainPaths, commit: Commit) -> EpisodeOutcome:
    row = disk.read_parquet(commits.read_episode_bytes(paths, commit), _COLUMNS).to_pylist()[0]
    inspections = unescape(row["inspections"]) if row["escaped"] else row["inspections"]
    found = [name for one in inspections for name in one["found"]]
    written = [path for path, known in commit.memory_delta.items() if known is not None]
    return EpisodeOutcome(
        index=commit.episode,
        success=row["success"],
        reward=row["reward"],
        invalid_actions=row["invalid_actions"],
        used=(*found, *written),
        started_at=commit.started_at,
        finished_at=commit.finished_at,
    )
