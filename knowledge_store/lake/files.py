"""Which files a reader takes: flat tables where a chain has them, episode files after those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from knowledge_store.lake import commits, disk
from knowledge_store.lake.paths import ChainPaths

_MEND = "delete the chain's compact folder; the tables can be made again from the episodes"


@dataclass(frozen=True, slots=True)
class CompactRecord:
    """What ``compact.json`` says: these tables hold the first ``episodes`` episodes."""

    episodes: int
    last_commit: str
    """Hash of the last commit record that they cover."""
    tables: Mapping[str, str]
    """Table -> file name."""
    sha256: Mapping[str, str]
    """Table -> hash of the file."""


_RECORD = TypeAdapter(CompactRecord)


@dataclass(frozen=True, slots=True)
class ChainFiles:
    """The files of one chain; together they hold every committed episode once."""

    flat: Mapping[str, str]
    """Table -> path of the flat file; empty before compaction."""
    episodes: Sequence[str]
    """Paths of the episode files that the flat tables do not cover."""
    done: int
    """Committed episodes."""
    compacted: int
    """Episodes that the flat tables cover."""


def read_compact_record(paths: ChainPaths) -> CompactRecord | None:
    """The chain's compaction record, or None before its first compaction.

    Raises:
        StorageError: the record is damaged.
    """
    path = paths.compact_record
    if not path.exists():
        return None
    fields = disk.parse_json(path, disk.read_bytes(path, _MEND), _MEND)
    return disk.decode(_RECORD, path, fields, _MEND)


def chain_files(paths: ChainPaths) -> ChainFiles:
    """The committed files of one chain.

    Raises:
        StorageError: a record is damaged or missing between others.
    """
    record = read_compact_record(paths)
    covered = record.episodes if record else 0
    rest = commits.read_all(paths, start=covered)
    flat = {table: str(paths.compacted(file)) for table, file in record.tables.items()} if record else {}
    return ChainFiles(
        flat, [str(paths.episode(one.file)) for one in rest], done=covered + len(rest), compacted=covered
    )
