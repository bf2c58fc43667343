"""``ocm results``: the result table, from the lake."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flows.cli.options import check_sweep, root_option


@click.command()
@click.argument("sweep")
@root_option
@click.option("--strata", is_flag=True, help="Also a row for each of the benchmark's task groups.")
@click.option(
    "--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True
)
def results(sweep: str, root: Path, strata: bool, form: str) -> None:
    """Print the result table of SWEEP, finished or not."""
    from rich.console import Console

    from dashboards.table import as_json, as_markdown, as_rich
    from knowledge_store.lake.results import results_table

    check_sweep(root, sweep)
    rows = results_table(root, sweep, by_stratum=strata)
    if form == "json":
        click.echo(json.dumps(as_json(rows), indent=2))
    elif form == "markdown":
        click.echo(as_markdown(rows))
    else:
        console = Console()
        console.print(as_rich(rows, console.width))
