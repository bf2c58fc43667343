"""The writer of one chain: resume, commit, and nothing in between.

The order of one commit, which makes a kill at any moment harmless:

1. the episode's Parquet file is written aside, flushed, renamed, and its folder flushed;
2. the commit record is written aside, flushed, and *linked* to ``commits/<index>.json``, and the
   folder flushed. **The link is the commit**: it appears whole and only once.

A kill before the link leaves at most files that no record names; readers ignore them. Of two writers
that race for one index exactly one gets the link; the other raises. What the next commit needs is
kept in memory, so the cost of a commit does not grow with the chain.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from knowledge_store.lake import commits, compact, disk, record, root
from knowledge_store.lake.commits import Commit, Hashes
from knowledge_store.lake.digest import trajectory_sha256
from knowledge_store.lake.memory import contents
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.errors import StorageError
from ocm.identity import canonical_json, sha256
from ocm.types import ChainKey, Episode


@dataclass(frozen=True, slots=True)
class ChainState:
    """Where a chain stands."""

    next_index: int
    memory: dict[str, str]
    """path -> content, after the last committed episode."""
    last_commit_sha: str
    """Empty before the first commit."""
    episodes: tuple[Commit, ...]


@dataclass(frozen=True, slots=True)
class _Head:
    """What the next commit needs to know."""

    next_index: int
    sha256: str
    memory: Hashes


class ChainWriter:
    """Writes the episodes of one chain, in order.

    Raises:
        StorageError: the lake is of another schema or not writable, or the chain's folder belongs to
            another key.
    """

    def __init__(self, root_folder: Path, sweep: str, chain: str, key: ChainKey) -> None:
        self.paths = ChainPaths(root_folder, sweep, chain)
        self._head: _Head | None = None
        root.open_for_writing(root_folder)
        for folder in (self.paths.episodes, self.paths.commits, self.paths.compact):
            disk.make_folder(folder)
        _claim(self.paths, key)

    def resume(self) -> ChainState:
        """Check everything that was committed and return where the chain stands.

        Raises:
            StorageError: a committed file is missing, damaged or out of order.
        """
        done = commits.read_all(self.paths)
        commits.verify(self.paths, done)
        memory = contents(self.paths, done)
        self._head = _head_after(self.paths, done)
        return ChainState(self._head.next_index, memory, self._head.sha256, tuple(done))

    def commit(self, episode: Episode) -> Commit:
        """Make an episode part of the lake; when this returns, it survives a power cut.

        Raises:
            StorageError: the index is taken or leaves a gap, the memory hashes do not follow from the
                episodes before, or the disk refuses. Nothing half-written is left.
        """
        if self._head is None:
            self.resume()
        assert self._head is not None
        head = self._head
        after = _checked(self.paths, head, episode)
        data = _parquet(record.to_table(episode))
        file = f"{episode.index:05d}-{episode.attempt}-{secrets.token_hex(4)}.parquet"
        commit = describe(episode, file, data, head.sha256, after)
        self._head = None  # until the commit has succeeded, the disk knows better
        commit = _publish(self.paths, commit, data)
        self._head = _Head(head.next_index + 1, commit.sha256, after)
        return commit

    def compact(self) -> None:
        """Give the chain flat tables for fast queries; does nothing when they are up to date.

        Raises:
            StorageError: a committed file is unreadable, or the disk refuses.
        """
        compact.compact(self.paths)


def _claim(paths: ChainPaths, key: ChainKey) -> None:
    identity = {"schema": SCHEMA_VERSION, "sweep": paths.sweep, "chain": paths.chain, "key": asdict(key)}
    if disk.place_once(paths.identity, disk.json_bytes(identity)):
        return
    mend = "give the sweep another name, or another storage root"
    found = disk.parse_json(paths.identity, disk.read_bytes(paths.identity, mend), mend)
    if canonical_json(found.get("key")) != canonical_json(asdict(key)):
        raise StorageError(f"{paths.identity}: belongs to a chain with another key; {mend}")


def _head_after(paths: ChainPaths, done: list[Commit]) -> _Head:
    hashes: Hashes = {}
    for commit in done:
        hashes = commits.fold(hashes, commit.memory_delta)
        if commits.hashes_hash(hashes) != commit.memory_sha256:
            raise StorageError(
                f"{paths.commit(commit.episode)}: its memory delta does not give its memory hash;"
                f" {commits.RESTORE}"
            )
    return _Head(len(done), done[-1].sha256 if done else "", hashes)


def _checked(paths: ChainPaths, head: _Head, episode: Episode) -> Hashes:
    """The memory after the episode, by hash, once all that can be checked has been checked."""
    place = paths.commit(episode.index)
    if (episode.sweep, episode.chain) != (paths.sweep, paths.chain):
        raise StorageError(f"{place}: the episode is of {episode.sweep}/{episode.chain}; use that writer")
    if episode.index < head.next_index:
        raise StorageError(f"{place}: exists; resume the chain at episode {head.next_index}")
    if episode.index > head.next_index:
        raise StorageError(f"{place}: episode {head.next_index} must be committed before it")
    after = commits.fold(head.memory, _delta(episode))
    for name, expected, given in (
        ("memory_before", head.memory, episode.memory_before),
        ("memory_after", after, episode.memory_after),
    ):
        if commits.hashes_hash(expected) != given:
            raise StorageError(
                f"{place}: {name} is {given[:12]}…, but the committed deltas give"
                f" {commits.hashes_hash(expected)[:12]}…; resume the chain and act with its memory"
            )
    return after


def _delta(episode: Episode) -> dict[str, str | None]:
    return {
        change.path: None if change.content is None else sha256(change.content)
        for change in episode.update.delta
    }


def describe(episode: Episode, file: str, data: bytes, previous: str, after: Hashes) -> Commit:
    """The commit record of an episode. It depends on nothing else, so a record can be checked by it.

    Args:
        file: name of the Parquet file, whose bytes are ``data``.
        previous: hash of the preceding record.
        after: the memory after the episode.
    """
    return Commit(
        episode=episode.index,
        file=file,
        file_sha256=disk.digest(data),
        file_bytes=len(data),
        trajectory_sha256=trajectory_sha256(episode.trajectory),
        memory_delta=_delta(episode),
        memory_sha256=commits.hashes_hash(after),
        previous=previous,
        task=episode.trajectory.task.id,
        success=episode.trajectory.success,
        reward=episode.trajectory.reward,
        attempt=episode.attempt,
        **_spent(episode),
        started_at=episode.started_at,
        finished_at=episode.finished_at,
    )


def _spent(episode: Episode) -> dict[str, Any]:
    replay, cost = episode.replay, episode.cost
    used = [call.reply.usage for call in episode.calls]
    unknown = cost is None or replay.dropped_cost is None
    return {
        "calls": len(used) + replay.dropped,
        "tokens": sum(usage.prompt + usage.completion for usage in used) + replay.dropped_tokens,
        "cost": None if unknown else (cost or 0.0) + (replay.dropped_cost or 0.0),
    }


def _publish(paths: ChainPaths, commit: Commit, data: bytes) -> Commit:
    parquet = paths.episode(commit.file)
    place = paths.commit(commit.episode)
    encoded = commits.encode(commit)
    try:
        disk.place(parquet, data)
        won = disk.place_once(place, encoded)
    except StorageError:
        if not place.exists():
            with suppress(OSError):  # a disk that refuses this too keeps a file that no record names
                parquet.unlink(missing_ok=True)
        raise
    if not won:
        parquet.unlink(missing_ok=True)
        raise StorageError(f"{place}: exists, another run plays this chain; stop one of the two and resume")
    return replace(commit, sha256=disk.digest(encoded))


def _parquet(table: pa.Table) -> bytes:
    """A file of one row gains nothing from statistics and dictionaries: without them it is half as big."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table, sink, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False
    )
    data: bytes = sink.getvalue().to_pybytes()
    return data
