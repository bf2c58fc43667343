"""``ocm sql``: the lake in SQL."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from flows.cli.options import check_sweep, root_option

COLUMNS = (
    "SELECT table_name AS view, column_name AS column, data_type AS type FROM information_schema.columns "
    "ORDER BY table_name, ordinal_position"
)


CELL_WIDTH = 8
"""Columns of a terminal that a cell needs at least to be read."""


@click.command()
@click.argument("query", required=False)
@root_option
@click.option("--sweep", help="Only this sweep; all by default.")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "jsonl"]), default="table", show_default=True
)
def sql(query: str | None, root: Path, sweep: str | None, form: str) -> None:
    """Run QUERY, one statement, over the lake's views; without QUERY, list views and their columns.

    It runs with your rights: it may read your files, and COPY ... TO writes them.
    """
    from knowledge_store.lake.views import connect, sql_errors
    from ocm.errors import SpecError

    if sweep is not None:
        check_sweep(root, sweep)
    with connect(root, sweep) as connection, sql_errors(root):
        statements = connection.extract_statements(query or COLUMNS)
        if len(statements) != 1:
            raise SpecError(f"SQL: {len(statements)} statements; give exactly one")
        cursor = connection.execute(statements[0])
        rows = cursor.fetchall()
        names = [column[0] for column in cursor.description or ()]
    {"table": _print_table, "csv": _print_csv, "jsonl": _print_jsonl}[form](names, rows)


def _print_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    if CELL_WIDTH * len(names) > console.width:
        _print_records(names, cells)
        return
    table = Table(*(name.replace("[", "\\[") for name in names))
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_records(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A block per row, a line per column: for rows that are wider than the terminal."""
    width = max(map(len, names))
    for number, row in enumerate(rows, start=1):
        click.secho(f"--- row {number}", fg="cyan")
        for name, value in zip(names, row, strict=True):
            click.echo(f"{name:<{width}}  {value}")


def _print_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(names)
    writer.writerows(rows)


def _print_jsonl(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from ocm.errors import SpecError

    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SpecError(f"SQL: several columns are called {', '.join(twice)}; give each a name with AS")
    for row in rows:
        click.echo(json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False))
