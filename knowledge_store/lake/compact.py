"""Flat tables of a chain: sorted, compressed, one file per table.

``python -m knowledge_store.lake.compact`` makes them for one chain after another: a line of JSON on standard
input is ``[root, sweep, chain]``, a line on standard output what was wrong with it, or null.

They are made by the same SQL that the views use on episode files, so both show the same rows. Each
file is written aside, flushed and named by its content; ``compact.json``, placed last and as a whole,
is the commit point. A kill before it leaves files that nobody names; the next call makes them again.
Episode files stay: they are the truth, and tables can be made again from them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import duckdb

from knowledge_store.lake import commits, disk, sql
from knowledge_store.lake.files import CompactRecord, read_compact_record
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.schema import SCHEMA_VERSION, TABLES
from ocm.errors import StorageError

_ERRNO = re.compile(r'"errno":\s*"?(\d+)')
"""Where DuckDB says what the operating system answered."""


AT_ONCE = 150
"""Episodes whose rows are in memory together: a driver compacts while its other chains play. Most chains
are one block. In the order of episodes, blocks one after another are as sorted as the whole. One thread
needs half the memory of two, and less time."""


def compact(paths: ChainPaths) -> None:
    """Write the flat tables over all committed episodes, unless they are up to date.

    Raises:
        StorageError: an episode file is unreadable, or the disk refuses.
    """
    done = commits.read_all(paths)
    present = read_compact_record(paths)
    if not done or (present is not None and present.last_commit == done[-1].sha256):
        return
    files = [str(paths.episode(commit.file)) for commit in done]
    tables, hashes = {}, {}
    for table, data in _flat_tables(paths, files):
        hashes[table] = disk.digest(data)
        tables[table] = f"{table}-{len(done):05d}-{hashes[table][:8]}.parquet"
        disk.place(paths.compacted(tables[table]), data)
    record = CompactRecord(len(done), done[-1].sha256, tables, hashes)
    disk.place(paths.compact_record, disk.json_bytes({"schema": SCHEMA_VERSION, **asdict(record)}))


def _flat_tables(paths: ChainPaths, files: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each table's name and the bytes of its Parquet file."""
    with (
        disk.storage_errors(paths.compact),
        tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=paths.compact) as aside,
        duckdb.connect() as connection,
    ):
        _run(connection, paths, f"{sql.QUIET}; SET threads = 1")
        blocks = [files[start : start + AT_ONCE] for start in range(0, len(files), AT_ONCE)]
        for number, block in enumerate(blocks):
            # once for all tables: most of the time goes into the files' footers
            rows = f"CREATE OR REPLACE TEMP TABLE chain_rows AS SELECT * FROM {sql.parquet(block)}"
            _run(connection, paths, rows)
            for table in TABLES:
                query = sql.ordered(table, sql.from_episodes(table, "chain_rows"))
                _write(connection, query, Path(aside) / f"{table}-{number}.parquet")
        for table in TABLES:
            parts = [str(Path(aside) / f"{table}-{number}.parquet") for number in range(len(blocks))]
            whole = Path(parts[0])
            if len(parts) > 1:
                whole = Path(aside) / f"{table}.parquet"
                _write(connection, f"SELECT * FROM {sql.parquet(parts)}", whole)
            yield table, whole.read_bytes()


def _write(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Copy to a file; what the disk refuses is an ``OSError``, as it is elsewhere."""
    copy = f"COPY ({query}) TO {sql.literal(str(target))} (FORMAT parquet, COMPRESSION zstd)"
    try:
        connection.execute(copy)
    except duckdb.Error as error:
        refused = _ERRNO.search(str(error))
        if refused is None:
            raise OSError(str(error)) from error
        raise OSError(int(refused[1]), os.strerror(int(refused[1]))) from error


def _run(connection: duckdb.DuckDBPyConnection, paths: ChainPaths, statement: str) -> None:
    try:
        connection.execute(statement)
    except duckdb.Error as error:
        raise StorageError(
            f"{paths.folder}: compaction failed: {str(error).splitlines()[0]}; {commits.RESTORE}"
        ) from error


def main() -> None:
    """Compact what is asked for, to the end of standard input."""
    for line in sys.stdin:
        root, sweep, chain = json.loads(line)
        failure = None
        try:
            compact(ChainPaths(Path(root), sweep, chain))
        except StorageError as error:
            failure = {"message": error.message, **error.details}
        print(json.dumps(failure), flush=True)


if __name__ == "__main__":
    main()
