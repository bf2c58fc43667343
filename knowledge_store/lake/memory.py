"""What a chain's memory was after any episode, from commit records and the files that they name."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_store.lake import commits, disk
from knowledge_store.lake.commits import Commit
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.text import unescape
from ocm.errors import StorageError
from ocm.identity import memory_hash


def contents(paths: ChainPaths, done: Sequence[Commit]) -> dict[str, str]:
    """The memory after the given commits: path -> content.

    Only those Parquet files are opened that hold a content which is still current.

    Raises:
        StorageError: a file is damaged, or the result has not the committed hash.
    """
    source: dict[str, Commit] = {}
    for commit in done:
        for path, known in commit.memory_delta.items():
            if known is None:
                source.pop(path, None)
            else:
                source[path] = commit
    opened = {commit.episode: _written(paths, commit) for commit in source.values()}
    memory = {path: opened[commit.episode][path] for path, commit in sorted(source.items())}
    if done and memory_hash(memory) != done[-1].memory_sha256:
        place = paths.commit(done[-1].episode)
        raise StorageError(f"{place}: the memory's hash is not the committed one; {commits.RESTORE}")
    return memory


def _written(paths: ChainPaths, commit: Commit) -> dict[str, str]:
    """The contents that one episode wrote."""
    data = commits.read_episode_bytes(paths, commit)
    row = disk.read_parquet(data, ["escaped", "memory"]).to_pylist()[0]
    changes = unescape(row["memory"]) if row["escaped"] else row["memory"]
    return {change["path"]: change["content"] for change in changes if change["content"] is not None}
