"""What a sweep has spent, by its commit records: the same in every process that plays a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from knowledge_store.lake import commits
from knowledge_store.lake.commits import Commit
from knowledge_store.lake.paths import ChainPaths


@dataclass(frozen=True, slots=True)
class Spent:
    """What some committed episodes took, replies that could not be used included."""

    usd: float | None = 0.0
    """US dollars; None when the price of one call is unknown."""
    tokens: int = 0
    calls: int = 0
    hours: float = 0.0
    """Time in which at least one of the episodes was being played."""


@dataclass(slots=True)
class _Sum:
    """A running sum. Stretches of time are kept apart, sorted, until they touch."""

    usd: float | None = 0.0
    tokens: int = 0
    calls: int = 0
    stretches: list[tuple[float, float]] = field(default_factory=list)

    def add(self, commit: Commit) -> None:
        self.usd = None if self.usd is None or commit.cost is None else self.usd + commit.cost
        self.tokens += commit.tokens
        self.calls += commit.calls
        self.stretches = joined(self.stretches, (commit.started_at, commit.finished_at))

    def spent(self) -> Spent:
        seconds = sum(end - begin for begin, end in self.stretches)
        return Spent(self.usd, self.tokens, self.calls, seconds / 3600)


class Spending:
    """What a sweep's chains have spent. Reads each commit record once; use it from one thread at a time."""

    def __init__(self, root: Path, sweep: str, chains: Iterable[str]) -> None:
        self._chains = {chain: ChainPaths(root, sweep, chain) for chain in chains}
        self._next = dict.fromkeys(self._chains, 0)
        self._of = {chain: _Sum() for chain in self._chains}
        self._all = _Sum()

    def refresh(self) -> None:
        """Read what was committed since the last time.

        Raises:
            StorageError: a record is damaged.
        """
        for chain, paths in self._chains.items():
            while paths.commit(self._next[chain]).exists():
                commit = commits.read(paths, self._next[chain])
                self._next[chain] += 1
                self._of[chain].add(commit)
                self._all.add(commit)

    def of_chain(self, chain: str) -> Spent:
        return self._of[chain].spent()

    def of_sweep(self) -> Spent:
        return self._all.spent()


def joined(stretches: list[tuple[float, float]], new: tuple[float, float]) -> list[tuple[float, float]]:
    """Stretches of time with one more: sorted, and none touches another.

    Episodes are committed nearly in the order of time, so only the last few are looked at.
    """
    begin, end = new
    later: list[tuple[float, float]] = []
    earlier = list(stretches)
    while earlier and earlier[-1][1] >= begin:
        one = earlier.pop()
        if one[0] > end:
            later.append(one)
        else:
            begin, end = min(begin, one[0]), max(end, one[1])
    return [*earlier, (begin, end), *reversed(later)]
