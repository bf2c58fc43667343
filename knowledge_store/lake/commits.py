"""Commit records: what is in the lake, and in which order.

``commits/00007.json`` says that episode 7 of a chain is in the lake. It names the Parquet file with
its hash, carries the memory delta as hashes, and the hash of its predecessor, so that a chain's
records prove one another. Readers believe these records and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.errors import StorageError
from ocm.identity import canonical_json, sha256

RESTORE = "restore it from a copy, or move the chain's folder away to play the chain again"

Hashes = dict[str, str]
"""A memory by content hash: path -> SHA-256."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit record, and the hash of its own file."""

    episode: int
    file: str
    """Name of the Parquet file in ``episodes/``."""
    file_sha256: str
    file_bytes: int
    trajectory_sha256: str
    memory_delta: Mapping[str, str | None]
    """Path -> hash of the new content, or None when the file is deleted."""
    memory_sha256: str
    """Hash of the whole memory after the episode."""
    previous: str
    """Hash of the preceding commit record; empty for the first."""
    task: str
    success: bool
    reward: float
    attempt: int
    calls: int
    """Model calls, those whose replies were dropped included; so are the tokens and the cost."""
    tokens: int
    cost: float | None
    """US dollars; None where the price of one call is unknown."""
    started_at: float
    """Seconds since the epoch, UTC."""
    finished_at: float
    sha256: str = ""
    """Hash of this record's own bytes; not part of them."""


_COMMIT = TypeAdapter(Commit)


def encode(commit: Commit) -> bytes:
    """The bytes of a commit record."""
    fields = asdict(commit)
    del fields["sha256"]
    return disk.json_bytes({"schema": SCHEMA_VERSION, **fields})


def read(paths: ChainPaths, index: int) -> Commit:
    """One commit record.

    Raises:
        StorageError: it is missing or damaged.
    """
    path = paths.commit(index)
    data = disk.read_bytes(path, RESTORE)
    commit = disk.decode(_COMMIT, path, disk.parse_json(path, data, RESTORE), RESTORE)
    return replace(commit, sha256=disk.digest(data))


def read_all(paths: ChainPaths, start: int = 0) -> list[Commit]:
    """All commit records from ``start`` on, in order, without checking hashes.

    Raises:
        StorageError: a record is missing between others, or damaged.
    """
    indices = paths.commit_indices()
    if indices != list(range(len(indices))):
        missing = min(set(range(len(indices))) - set(indices))
        raise StorageError(f"{paths.commit(missing)}: missing, though later commits exist; {RESTORE}")
    return [read(paths, index) for index in indices[start:]]


def verify(paths: ChainPaths, commits: list[Commit]) -> None:
    """Check that each record names its predecessor and that every Parquet file is whole.

    Raises:
        StorageError: names the first file that is not as it was committed.
    """
    previous = ""
    for commit in commits:
        if commit.previous != previous:
            raise StorageError(
                f"{paths.commit(commit.episode)}: does not follow the commit before it; {RESTORE}"
            )
        read_episode_bytes(paths, commit)
        previous = commit.sha256


def read_episode_bytes(paths: ChainPaths, commit: Commit) -> bytes:
    """The bytes of a committed Parquet file, checked against the record.

    Raises:
        StorageError: the file is missing, cut short or changed.
    """
    path = paths.episode(commit.file)
    data = disk.read_bytes(path, RESTORE)
    if disk.digest(data) != commit.file_sha256:
        raise StorageError(
            f"{path}: damaged ({len(data)} bytes, {commit.file_bytes} were committed,"
            f" and its hash differs); {RESTORE}"
        )
    return data


def fold(hashes: Hashes, delta: Mapping[str, str | None]) -> Hashes:
    """A memory by hash after one delta."""
    after = dict(hashes)
    for path, known in delta.items():
        if known is None:
            after.pop(path, None)
        else:
            after[path] = known
    return after


def hashes_hash(hashes: Hashes) -> str:
    """:func:`ocm.identity.memory_hash` of a memory that is known by hash only."""
    return sha256(canonical_json(sorted(hashes.items())))
