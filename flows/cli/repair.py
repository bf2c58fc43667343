"""``ocm repair``: mend what can safely be mended in a lake, and say what cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from flows.cli.check import name_of, printable, watching

if TYPE_CHECKING:
    from knowledge_store.lake.checking.repair import Repaired


@click.command()
@click.argument("sweeps", metavar="[SWEEP]...", nargs=-1)
@click.option("--root", default="runs", show_default=True, help="Storage root of the lake.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def repair(sweeps: Sequence[str], root: str, dry_run: bool) -> int:
    """Mend what is safe to mend: leftovers of kills, flat tables, a lost lake.json.

    Committed episodes and their records are never touched; what is in the way is moved to .set-aside in
    the storage root. Chains that are being played are left alone. Exit code 0: all that is damaged is
    mended. 1: something is left.
    """
    from knowledge_store.lake.checking import repair as repairing
    from knowledge_store.lake.checking.source import open_source

    source = open_source(root)
    with watching() as watch:
        repaired = repairing.repair(source, sweeps, dry_run=dry_run, watch=watch)
    return _print(repaired, root, dry_run)


def _print(repaired: Repaired, root: str, dry_run: bool) -> int:
    for done in repaired.done:
        click.echo(printable(f"{'to do: ' if dry_run else ''}{done.path}: {done.what}"))
    for refused in repaired.refused:
        click.echo(printable(f"left alone: {refused.path}: {refused.what}"))
    lost = [(place, one) for place, one in repaired.left if one.severity == "damage"]
    for place, one in lost:
        click.echo(printable(f"cannot be mended: {name_of(place, root)}: {one.path}: {one.what}; {one.mend}"))
    what = "would be mended" if dry_run else "mended"
    click.echo(
        f"{root}: {len(repaired.done)} {what}, {len(repaired.refused)} left alone,"
        f" {len(lost)} damaged that no repair mends"
    )
    return int(bool(lost or repaired.refused))
