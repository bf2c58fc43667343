"""What was paid for and what is on the disk: no reply that was kept may be asked for again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge_store.lake import journal
from knowledge_store.lake.commits import read_all, read_episode_bytes
from knowledge_store.lake.disk import read_parquet
from knowledge_store.lake.paths import ChainPaths, chains
from knowledge_store.lake.restore import from_table
from ocm.types import Reply
from tests.faults.model_server import Asked


@dataclass(frozen=True, slots=True)
class Kept:
    """Contents whose replies were on the disk when a driver was dead. Times: seconds since the epoch."""

    started: float
    """When that driver was started."""
    at: float
    contents: frozenset[str]


class Replies:
    """The contents of all replies on the disk; committed episodes are read once only."""

    def __init__(self, root: Path, sweep: str) -> None:
        self._root = root
        self._sweep = sweep
        self._committed: dict[tuple[str, int], frozenset[str]] = {}

    def on_disk(self) -> frozenset[str]:
        """Of committed episodes and of journals."""
        found: set[str] = set()
        for paths in chains(self._root, self._sweep):
            for commit in read_all(paths):
                place = (paths.chain, commit.episode)
                if place not in self._committed:
                    episode = from_table(read_parquet(read_episode_bytes(paths, commit)))
                    self._committed[place] = contents_of(call.reply for call in episode.calls)
                found |= self._committed[place]
            found |= in_journals(paths)
        return frozenset(found)


def in_journals(paths: ChainPaths) -> frozenset[str]:
    """The contents of the replies in a chain's journals."""
    if not paths.journals.is_dir():
        return frozenset()
    texts = [path.read_bytes() for path in sorted(paths.journals.glob("*.jsonl"))]
    return contents_of(one.reply for text in texts for one in journal.read(text).replies)


def contents_of(replies: Iterable[Reply]) -> frozenset[str]:
    """The contents that the replies' fingerprints name."""
    return frozenset(reply.fingerprint.partition(".")[0] for reply in replies)


def asked_again(asked: Sequence[Asked], kept: Sequence[Kept]) -> list[Asked]:
    """Requests whose reply was on the disk before they came."""
    return [one for one in asked if any(one.came > life.at and one.content in life.contents for life in kept)]


def in_flight(asked: Sequence[Asked], life: Kept) -> list[Asked]:
    """Replies that were sent to their end in that life and were not on the disk when it ended."""
    return [
        one
        for one in asked
        if one.whole and life.started <= one.ended <= life.at and one.content not in life.contents
    ]


def answered_twice(asked: Sequence[Asked]) -> Counter[str]:
    """Contents that got more than one whole reply, with how many more."""
    counts = Counter(one.content for one in asked if one.whole)
    return Counter({content: count - 1 for content, count in counts.items() if count > 1})
