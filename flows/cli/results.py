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
    "--ranks",
    metavar="COLUMNS",
    help="What the average rank is over: paper, or a list such as alfworld.success_rate,plancraft.reward; "
    "ENVIRONMENT.MEASURE.strata ranks by the benchmark's task groups and all together.  "
    "[default: success rate and reward of each environment]",
)
@click.option(
    "--prompts",
    is_flag=True,
    help="Instead: the acting prompt's size as episodes go by, and what acting and learning spend.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True
)
def results(sweep: str, root: Path, strata: bool, ranks: str | None, prompts: bool, form: str) -> None:
    """Print the result table of SWEEP, finished or not."""
    if prompts and (strata or ranks is not None):
        raise click.UsageError("--prompts is a table of its own, without --strata and --ranks")
    check_sweep(root, sweep)
    if prompts:
        _print_prompts(root, sweep, form)
    else:
        _print_results(root, sweep, strata, ranks, form)


def _print_results(root: Path, sweep: str, strata: bool, ranks: str | None, form: str) -> None:
    from rich.console import Console

    from dashboards.table import as_json, as_markdown, as_rich
    from knowledge_store.lake.ranks import parse_columns, rank
    from knowledge_store.lake.results import results_table

    columns = () if ranks is None else parse_columns(ranks)
    by_stratum = results_table(root, sweep, by_stratum=strata or any(column.strata for column in columns))
    ranking = rank(by_stratum, columns)
    rows = [row for row in by_stratum if strata or row.cell.stratum is None]
    if form == "json":
        click.echo(json.dumps(as_json(rows, ranking), indent=2))
    elif form == "markdown":
        click.echo(as_markdown(rows, ranking))
    else:
        console = Console()
        console.print(as_rich(rows, console.width, ranking))


def _print_prompts(root: Path, sweep: str, form: str) -> None:
    from rich.console import Console

    from dashboards.prompts import as_json, as_markdown, as_rich
    from knowledge_store.lake.prompts import prompt_table

    rows = prompt_table(root, sweep)
    if form == "json":
        click.echo(json.dumps(as_json(rows), indent=2))
    elif form == "markdown":
        click.echo(as_markdown(rows))
    else:
        console = Console()
        console.print(as_rich(rows, console.width))
