"""The SQL of the views and of compaction, made from the schema."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_store.lake.schema import EPISODES, IDENTITY, NESTED, TABLES, text_columns

_ORDER = {
    "episodes": (),
    "steps": ("step",),
    "turns": ("turn",),
    "inspections": ("inspection",),
    "calls": ("position",),
    "verdicts": ("position",),
    "memory": ("position",),
    "stages": ("stage",),
    "texts": ("sha256",),
}


QUIET = "SET enable_progress_bar = false"
"""DuckDB draws a bar on standard output, where results go, once a statement takes two seconds."""


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def file_list(files: Sequence[str]) -> str:
    """Paths as an SQL list."""
    return f"[{', '.join(literal(file) for file in files)}]"


def parquet(files: Sequence[str]) -> str:
    """A source of rows: exactly these files."""
    return f"read_parquet({file_list(files)})"


def parquet_variable(name: str) -> str:
    """A source of rows: the files that a variable of the connection lists.

    With thousands of files this binds many times faster than their names in each view.
    """
    return f"read_parquet(getvariable({literal(name)}))"


def from_episodes(table: str, source: str) -> str:
    """A flat table out of a source of episode rows."""
    identity = ", ".join(quoted(column.name) for column in IDENTITY)
    if table == "episodes":
        own = ", ".join(quoted(column.name) for column in EPISODES)
        return f"SELECT {identity}, {own} FROM {source}"
    own = ", ".join(f"item.{quoted(column.name)}" for column in NESTED[table])
    unnested = f"SELECT {identity}, unnest({quoted(table)}) AS item FROM {source}"
    return f"SELECT {identity}, {own} FROM ({unnested})"


def from_flat(table: str, source: str) -> str:
    """A flat table out of a source of its compacted rows."""
    columns = ", ".join(quoted(column.name) for column in IDENTITY + TABLES[table])
    return f"SELECT {columns} FROM {source}"


def ordered(table: str, query: str) -> str:
    """A flat table in the order in which compaction writes it."""
    order = ", ".join(quoted(name) for name in ("chain", "episode", *_ORDER[table]))
    return f"SELECT * FROM ({query}) ORDER BY {order}"


def with_texts(table: str) -> str:
    """A table with every text beside its hash; the join keys stand in the texts too."""
    joins, columns = [], ["base.*"]
    for name in text_columns(table):
        alias = quoted(f"of_{name}")
        joins.append(
            f"LEFT JOIN texts AS {alias} ON {alias}.sweep = base.sweep AND {alias}.chain = base.chain"
            f" AND {alias}.episode = base.episode AND {alias}.sha256 = base.{quoted(name)}"
        )
        columns.append(f"{alias}.content AS {quoted(name.removesuffix('_sha256'))}")
    return f"SELECT {', '.join(columns)} FROM {quoted(table)} AS base {' '.join(joins)}"


def messages() -> str:
    """One row per message sent."""
    identity = ", ".join(quoted(column.name) for column in IDENTITY)
    inner = (
        f"SELECT {identity}, call, purpose, unnest(messages) AS item,"
        " generate_subscripts(messages, 1) - 1 AS message FROM calls"
    )
    return (
        f"SELECT {identity}, call, purpose, message, item.role AS role, item.sha256 AS sha256 FROM ({inner})"
    )
