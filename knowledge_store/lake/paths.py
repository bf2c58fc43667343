"""Where things stand under a storage root. The only place that joins paths of the lake.

::

    <root>/lake.json
    <root>/<sweep>/sweep.json
    <root>/<sweep>/chains/<chain>/chain.json
                                 /episodes/00007-1-3fa94c01.parquet
                                 /commits/00007.json
                                 /compact/compact.json, <table>-00117-9c01be22.parquet
                                 /journal/00008.jsonl, of the episode under way
                                 /lease-00003.json
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from knowledge_store.lake.disk import storage_errors
from ocm.errors import StorageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"(\d{5,})\.json")


def lake_file(root: Path) -> Path:
    return root / "lake.json"


def manifest_file(root: Path, sweep: str) -> Path:
    return root / _checked("sweep", sweep) / "sweep.json"


@dataclass(frozen=True, slots=True)
class ChainPaths:
    """The places of one chain."""

    root: Path
    sweep: str
    chain: str

    def __post_init__(self) -> None:
        _checked("sweep", self.sweep)
        _checked("chain", self.chain)

    @property
    def folder(self) -> Path:
        return self.root / self.sweep / "chains" / self.chain

    @property
    def identity(self) -> Path:
        return self.folder / "chain.json"

    @property
    def episodes(self) -> Path:
        return self.folder / "episodes"

    @property
    def commits(self) -> Path:
        return self.folder / "commits"

    @property
    def compact(self) -> Path:
        return self.folder / "compact"

    @property
    def compact_record(self) -> Path:
        return self.compact / "compact.json"

    def episode(self, file: str) -> Path:
        """An episode file, by the name that its commit record gives."""
        return self.episodes / _checked("file", file)

    def compacted(self, file: str) -> Path:
        """A flat table, by the name that the compaction record gives."""
        return self.compact / _checked("file", file)

    def commit(self, index: int) -> Path:
        return self.commits / f"{index:05d}.json"

    @property
    def journals(self) -> Path:
        return self.folder / "journal"

    def journal(self, index: int) -> Path:
        """The journal of an episode that is under way."""
        return self.journals / f"{index:05d}.jsonl"

    def commit_indices(self) -> list[int]:
        """Indices of all commit records, in order; empty for a chain that has not begun.

        Raises:
            StorageError: their folder cannot be read.
        """
        with storage_errors(self.commits):
            if not self.commits.is_dir():
                return []
            found = [_COMMIT.fullmatch(path.name) for path in self.commits.iterdir()]
        return sorted(int(match[1]) for match in found if match)


def sweeps(root: Path) -> list[str]:
    """Names of the sweeps that a root holds, sorted."""
    if not root.is_dir():
        return []
    folders = (folder for folder in root.iterdir() if _NAME.fullmatch(folder.name))
    return sorted(
        folder.name for folder in folders if (folder / "sweep.json").is_file() or (folder / "chains").is_dir()
    )


def chains(root: Path, sweep: str) -> list[ChainPaths]:
    """The chains of a sweep that have an identity file, sorted by id."""
    folder = root / _checked("sweep", sweep) / "chains"
    if not folder.is_dir():
        return []
    found = (ChainPaths(root, sweep, path.name) for path in folder.iterdir() if _NAME.fullmatch(path.name))
    return sorted((chain for chain in found if chain.identity.is_file()), key=lambda chain: chain.chain)


def _checked(what: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise StorageError(
            f"{what} name {name!r} cannot be a folder or file name of the lake;"
            " use letters, digits, '.', '_' and '-', with a letter or digit first"
        )
    return name
