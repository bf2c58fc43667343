"""``ocm mlflow``: MLflow is derived from the lake, so it can be rebuilt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.cli.options import check_sweep, root_option

if TYPE_CHECKING:
    from ocm.spec import SweepSpec


@click.group()
def mlflow() -> None:
    """MLflow is derived from the lake: bring it up to date, or rebuild it elsewhere."""


@mlflow.command()
@click.argument("sweep")
@root_option
@click.option("--uri", help="Tracking URI, instead of the spec's.")
def sync(sweep: str, root: Path, uri: str | None) -> None:
    """Tell MLflow every episode of SWEEP that it does not know yet. Safe to repeat."""
    from flows.quiet import quiet_services
    from flows.spec_file import parse_spec
    from knowledge_store.lake.manifest import read_manifest

    check_sweep(root, sweep)
    quiet_services()
    spec = parse_spec(dict(read_manifest(root, sweep).spec), f"{root}/{sweep}/sweep.json")
    storage = spec.storage.model_copy(update={"root": str(root)})
    tracking = spec.tracking.model_copy(update={"uri": uri} if uri else {})
    told = asyncio.run(_sync(spec.model_copy(update={"storage": storage, "tracking": tracking})))
    click.echo(f"MLflow knows all {told} episodes of {sweep} that the lake holds")


async def _sync(spec: SweepSpec) -> int:
    from flows.catching_up import catch_up
    from flows.runtime import new_tracker, open_tracker
    from flows.sweep import publish_results
    from knowledge_store.lake.manifest import read_manifest
    from knowledge_store.lake.outcomes import outcomes
    from knowledge_store.lake.reader import list_chains, memory_at
    from ocm.errors import OrchestrationError
    from tasks.track import ChainRun

    root = Path(spec.storage.root)
    planned = {one.chain: one for one in read_manifest(root, spec.name).chains}
    tracker = new_tracker(spec)
    told = 0
    try:
        await open_tracker(tracker, spec)
        for info in list_chains(root, spec.name):
            if info.chain not in planned:
                continue
            earlier = outcomes(root, spec.name, info.chain)
            started = earlier[0].started_at if earlier else None
            run = ChainRun(info.chain, info.key, planned[info.chain].episodes, started)
            await catch_up(tracker, root, spec.name, run, earlier)
            memory = memory_at(root, spec.name, info.chain)
            await tracker.finish_chain(info.chain, "complete", memory)
            told += info.done
        await publish_results(tracker, root, spec.name, "complete")
    finally:
        await tracker.close()
    if tracker.problems:
        raise OrchestrationError(f"MLflow: {tracker.problems[0]}; mend it and call `ocm mlflow sync` again")
    return told
