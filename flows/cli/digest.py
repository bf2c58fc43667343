"""``ocm digest``: hashes of what a sweep saw and learned, to compare two runs of one spec."""

from __future__ import annotations

from pathlib import Path

import click

from flows.cli.options import check_sweep, root_option


@click.command()
@click.argument("sweep")
@root_option
@click.option(
    "--trajectories", is_flag=True, help="Print the trajectories themselves, as canonical JSON lines."
)
def digest(sweep: str, root: Path, trajectories: bool) -> None:
    """Print one line per chain of SWEEP: episodes, hash of all trajectories, hash of the last memory.

    Clocks are no part of either: two runs of the same spec print the same lines.
    """
    from knowledge_store.lake.reader import chain_digest, export_trajectories, list_chains

    check_sweep(root, sweep)
    for info in list_chains(root, sweep):
        if trajectories:
            for line in export_trajectories(root, sweep, info.chain):
                click.echo(line)
        else:
            found = chain_digest(root, sweep, info.chain)
            click.echo(f"{info.chain}  {info.done}  {found.trajectories}  {found.memory}")
