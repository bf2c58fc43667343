"""``ocm status``: how far each chain is, who plays it, and what was spent; all derived from the lake."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.cli.options import check_sweep, root_option
from knowledge_store.lake.paths import sweeps
from ocm.errors import SpecError

if TYPE_CHECKING:
    from knowledge_store.lake.holders import Holder
    from knowledge_store.lake.manifest import Manifest, PlannedChain
    from knowledge_store.lake.spending import Spending, Spent
    from ocm.spec import BudgetSpec


@dataclass(frozen=True, slots=True)
class ChainStanding:
    """Where one chain stands."""

    chain: str
    state: str
    """``complete``, ``playing``, ``paused: budget``, ``open`` (begun, nobody plays it) or ``not begun``."""
    episodes: int
    planned: int
    replies: int
    """Replies in the journal of an interrupted episode: they will not be asked for again."""
    spent: Spent
    who: str = ""
    """The process that plays it."""


@click.command()
@click.argument("sweep", nargs=-1)
@root_option
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table", show_default=True)
def status(sweep: tuple[str, ...], root: Path, shape: str) -> None:
    """Print how far the chains of SWEEP are, or of all sweeps: state, episodes, spending, who plays them.

    States: `complete`; `playing`, by whom; `paused: budget`; `open`, which `ocm run` goes on with; `not
    begun`. Replies count what an interrupted episode has been answered already.
    """
    for name in sweep:
        check_sweep(root, name)
    names = sweep or sweeps(root)
    if not names:
        raise SpecError(f"{root}: no sweeps there; give the storage root, a folder, with --root")
    found = {name: standings(root, name) for name in names}
    if shape == "json":
        _print_json(found)
    else:
        _print_tables(found)


def standings(root: Path, sweep: str) -> list[ChainStanding]:
    """Where the planned chains of a sweep stand, in the order of its manifest.

    Raises:
        StorageError: the lake is of another schema, or a record is damaged.
    """
    from flows.budgets import sweep_spending
    from flows.spec_file import parse_spec
    from knowledge_store.lake.holders import is_alive
    from knowledge_store.lake.manifest import read_manifest
    from knowledge_store.lake.paths import manifest_file

    manifest = read_manifest(root, sweep)
    budgets = parse_spec(dict(manifest.spec), str(manifest_file(root, sweep))).budget
    spending = sweep_spending(root, sweep, [one.chain for one in manifest.chains])
    spending.refresh()
    alive = cache(partial(is_alive, root))  # asking for one on another machine may take a minute
    return [_standing(root, manifest, one, spending, budgets, alive) for one in manifest.chains]


def _standing(
    root: Path,
    manifest: Manifest,
    planned: PlannedChain,
    spending: Spending,
    budgets: BudgetSpec,
    alive: Callable[[Holder], bool],
) -> ChainStanding:
    from flows.budgets import spent_up
    from knowledge_store.lake.journal import replies_in
    from knowledge_store.lake.lease import held_by
    from knowledge_store.lake.paths import ChainPaths

    paths = ChainPaths(root, manifest.sweep, planned.chain)
    done = len(paths.commit_indices())
    replies = replies_in(paths.journal(done))
    holder = held_by(root, paths.folder, alive)
    spent = spending.of_chain(planned.chain)
    if done >= planned.episodes:
        state = "complete"
    elif holder:
        state = "playing"
    elif spent_up("", budgets.sweep, spending.of_sweep()) or spent_up("", budgets.chain, spent):
        state = "paused: budget"
    else:
        state = "open" if done or replies else "not begun"
    who = f"{holder}, since {time.strftime('%H:%M', time.localtime(holder.since))}" if holder else ""
    return ChainStanding(planned.chain, state, done, planned.episodes, replies, spent, who)


def _print_json(found: dict[str, list[ChainStanding]]) -> None:
    import json
    from dataclasses import asdict

    rows = [{"sweep": name, **asdict(one)} for name, chains in found.items() for one in chains]
    click.echo(json.dumps(rows, indent=1))


def _print_tables(found: dict[str, list[ChainStanding]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, chains in found.items():
        table = Table(title=name, title_justify="left", box=box.SIMPLE_HEAD)
        for heading in ("chain", "state", "episodes", "replies", "calls", "tokens", "cost $", "hours"):
            right = heading not in ("chain", "state")
            table.add_column(heading, justify="right" if right else "left", overflow="fold")
        for one in chains:
            table.add_row(*_cells(one))
        console.print(table)
        for who in dict.fromkeys(one.who for one in chains if one.who):
            console.print(f"played by {who}", highlight=False)


def _cells(one: ChainStanding) -> tuple[str, ...]:
    spent = one.spent
    return (
        one.chain,
        one.state,
        f"{one.episodes}/{one.planned}",
        str(one.replies),
        f"{spent.calls:,}",
        f"{spent.tokens:,}",
        "unknown" if spent.usd is None else f"{spent.usd:,.2f}",
        f"{spent.hours:.2f}",
    )
