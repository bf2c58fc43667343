"""SQL over the lake: DuckDB views that show compacted and fresh episodes as one.

A connection sees the episodes that were committed when it was made. Views: the tables of
:data:`~knowledge_store.lake.schema.TABLES`; for each table with texts a twin such as ``steps_text``
that adds the texts beside their hashes; ``messages``; ``chains``; ``sweeps``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from knowledge_store.lake import sql
from knowledge_store.lake.catalog import chain_rows, sweep_rows
from knowledge_store.lake.files import chain_files
from knowledge_store.lake.paths import chains, sweeps
from knowledge_store.lake.root import open_for_reading
from knowledge_store.lake.schema import TABLES, flat_schema, text_columns
from ocm.errors import SpecError, StorageError

_FAILURES = (
    duckdb.IOException,
    duckdb.InvalidInputException,
    duckdb.OutOfMemoryException,
    duckdb.InternalException,
    duckdb.FatalException,
)
"""What DuckDB raises when a file or the machine is at fault; everything else is the statement's."""


def connect(
    root: Path, sweep: str | None = None, memory_limit: str | None = None
) -> duckdb.DuckDBPyConnection:
    """An in-memory connection with all views, over one sweep or all of them.

    Args:
        root: the storage root; an empty or missing one gives views without rows.
        sweep: only this sweep.
        memory_limit: DuckDB's memory bound, such as ``"2GB"``.

    Raises:
        StorageError: the lake is of another schema, or a record in it is damaged.
    """
    open_for_reading(root)
    names = sweeps(root) if sweep is None else [sweep]
    places = [place for name in names for place in chains(root, name)]
    files = [chain_files(place) for place in places]
    connection = duckdb.connect()
    connection.execute(sql.QUIET)
    if memory_limit is not None:
        connection.execute(f"SET memory_limit = {sql.literal(memory_limit)}")
    _add_table(connection, "chains", chain_rows(root, places, files))
    _add_table(connection, "sweeps", sweep_rows(root, names))
    connection.execute("SET parquet_metadata_cache = true")  # committed files never change
    fresh = [file for chain in files for file in chain.episodes]
    connection.execute(f"SET VARIABLE episode_files = {sql.file_list(fresh)}")
    with sql_errors(root):
        for table in TABLES:
            flat = [chain.flat[table] for chain in files if table in chain.flat]
            _add_view(connection, table, flat, bool(fresh))
    for table in TABLES:
        if text_columns(table):
            connection.execute(f"CREATE VIEW {table}_text AS {sql.with_texts(table)}")
    connection.execute(f"CREATE VIEW messages AS {sql.messages()}")
    return connection


def query(root: Path, statement: str, sweep: str | None = None) -> pa.Table:
    """The result of one SQL statement over the lake, as an Arrow table.

    Raises:
        SpecError: the statement is wrong.
        StorageError: the lake cannot be read.
    """
    with connect(root, sweep) as connection, sql_errors(root):
        relation = connection.sql(statement)
        return pa.table({}) if relation is None else relation.to_arrow_table()


@contextmanager
def sql_errors(root: Path) -> Iterator[None]:
    """Turn DuckDB's errors into ours: the statement is wrong, or the lake cannot be read."""
    try:
        yield
    except _FAILURES as error:
        raise StorageError(
            f"{root}: the query failed: {str(error).splitlines()[0]}; if it names a file of the lake, "
            "restore that file (one in a compact folder: delete the folder and call `ocm run` again)"
        ) from error
    except duckdb.Error as error:
        raise SpecError(f"SQL: {error}\n`ocm sql` without a query lists views and columns") from error


def _add_view(
    connection: duckdb.DuckDBPyConnection, table: str, flat: Sequence[str], any_fresh: bool
) -> None:
    """One view over the flat files of compacted chains and the episode files of the others."""
    connection.execute(f"SET VARIABLE {table}_files = {sql.file_list(flat)}")
    parts = [sql.from_flat(table, sql.parquet_variable(f"{table}_files"))] if flat else []
    parts += [sql.from_episodes(table, sql.parquet_variable("episode_files"))] if any_fresh else []
    if parts:
        connection.execute(f"CREATE VIEW {sql.quoted(table)} AS {' UNION ALL '.join(parts)}")
    else:
        _add_table(connection, table, flat_schema(table).empty_table())


def _add_table(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    connection.register("rows_of_arrow", rows)
    connection.execute(f"CREATE TABLE {sql.quoted(name)} AS SELECT * FROM rows_of_arrow")
    connection.unregister("rows_of_arrow")
