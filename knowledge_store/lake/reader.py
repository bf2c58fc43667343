"""Reading chains and episodes as the project's own types, for `ocm show`, `ocm knowledge` and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from knowledge_store.lake import commits, memory
from knowledge_store.lake.catalog import read_key
from knowledge_store.lake.commits import Commit
from knowledge_store.lake.digest import trajectory_json
from knowledge_store.lake.disk import read_parquet
from knowledge_store.lake.paths import ChainPaths, chains, sweeps
from knowledge_store.lake.restore import from_table
from knowledge_store.lake.root import open_for_reading
from knowledge_store.memory import apply
from ocm.errors import StorageError
from ocm.identity import canonical_json, memory_hash, sha256
from ocm.types import ChainKey, Episode


@dataclass(frozen=True, slots=True)
class ChainInfo:
    """A chain that has begun."""

    sweep: str
    chain: str
    key: ChainKey
    done: int
    """Committed episodes."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What one episode did to the memory."""

    episode: int
    task: str
    success: bool
    delta: Mapping[str, str | None]
    """Path -> hash of the new content, or None when the file was deleted. Empty: nothing learned."""
    memory_sha256: str
    finished_at: float


@dataclass(frozen=True, slots=True)
class ChainDigest:
    """Two chains are equal, byte for byte, when their digests are."""

    episodes: int
    trajectories: str
    """SHA-256 over the hashes of all trajectories, in order."""
    memory: str
    """Hash of the memory after the last episode."""


def list_chains(root: Path, sweep: str | None = None) -> list[ChainInfo]:
    """The chains of one sweep, or of all, sorted by sweep and id.

    Raises:
        StorageError: the lake is of another schema, or damaged.
    """
    open_for_reading(root)
    names = sweeps(root) if sweep is None else [sweep]
    places = [place for name in names for place in chains(root, name)]
    return [
        ChainInfo(place.sweep, place.chain, read_key(place), len(place.commit_indices())) for place in places
    ]


def load_episode(root: Path, sweep: str, chain: str, episode: int) -> Episode:
    """One committed episode.

    Raises:
        StorageError: there is no such episode, or its file is damaged.
    """
    paths, done = _committed(root, sweep, chain)
    _check_index(paths, done, episode)
    return _load(paths, done[episode])


def played(root: Path, sweep: str, chain: str, start: int = 0) -> Iterator[tuple[Episode, dict[str, str]]]:
    """Every committed episode from ``start`` on, in order, each with the memory after it (path -> content).

    Raises:
        StorageError: there is no such chain, or a file is damaged.
    """
    paths, done = _committed(root, sweep, chain)
    files = memory.contents(paths, done[:start])
    for commit in done[start:]:
        episode = _load(paths, commit)
        files = apply(files, episode.update.delta)
        yield episode, files


def memory_at(root: Path, sweep: str, chain: str, episode: int | None = None) -> dict[str, str]:
    """The memory after an episode, path -> content; after the last one by default.

    ``episode=-1`` is the empty memory with which a chain begins.

    Raises:
        StorageError: there is no such episode, or a file is damaged.
    """
    paths, done = _committed(root, sweep, chain)
    if episode is None:
        return memory.contents(paths, done)
    if episode != -1:
        _check_index(paths, done, episode)
    return memory.contents(paths, done[: episode + 1])


def history(root: Path, sweep: str, chain: str) -> list[MemoryChange]:
    """What each episode did to the memory, in order.

    Raises:
        StorageError: there is no such chain, or a record is damaged.
    """
    return [
        MemoryChange(one.episode, one.task, one.success, one.memory_delta, one.memory_sha256, one.finished_at)
        for one in _committed(root, sweep, chain)[1]
    ]


def chain_digest(root: Path, sweep: str, chain: str) -> ChainDigest:
    """The digest of a chain's trajectories and of its last memory.

    Raises:
        StorageError: there is no such chain, or a record is damaged.
    """
    _, done = _committed(root, sweep, chain)
    last = done[-1].memory_sha256 if done else memory_hash({})
    return ChainDigest(len(done), sha256(canonical_json([one.trajectory_sha256 for one in done])), last)


def export_trajectories(root: Path, sweep: str, chain: str) -> Iterator[str]:
    """The canonical JSON of each trajectory, in order; what :func:`chain_digest` hashes.

    Raises:
        StorageError: there is no such chain, or a file is damaged.
    """
    paths, done = _committed(root, sweep, chain)
    for commit in done:
        yield trajectory_json(_load(paths, commit).trajectory)


def verify_chain(root: Path, sweep: str, chain: str) -> int:
    """Check every committed file of a chain against its record; return the number of episodes.

    Raises:
        StorageError: names the first file that is not as it was committed.
    """
    paths, done = _committed(root, sweep, chain)
    commits.verify(paths, done)
    memory.contents(paths, done)
    return len(done)


def _committed(root: Path, sweep: str, chain: str) -> tuple[ChainPaths, list[Commit]]:
    open_for_reading(root)
    paths = ChainPaths(root, sweep, chain)
    if not paths.identity.is_file():
        raise StorageError(f"{paths.folder}: no such chain; `ocm status` lists the chains")
    return paths, commits.read_all(paths)


def _check_index(paths: ChainPaths, done: list[Commit], episode: int) -> None:
    if not 0 <= episode < len(done):
        raise StorageError(
            f"{paths.folder}: episode {episode} is not committed; give one from 0 to {len(done) - 1}"
            if done
            else f"{paths.folder}: no episode is committed yet; run the sweep"
        )


def _load(paths: ChainPaths, commit: Commit) -> Episode:
    data = commits.read_episode_bytes(paths, commit)
    return from_table(read_parquet(data))
