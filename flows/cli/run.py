"""``ocm run``: play a sweep, or go on with it."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, cast

import click

from flows.cli.options import command_given, spec_argument

if TYPE_CHECKING:
    from flows.endings import SweepOutcome
    from flows.planning import Plan
    from flows.prefect_server import PrefectServer
    from flows.progress import Listener

SR_BY_METHOD = "SELECT method, avg(success::INT) AS sr FROM episodes GROUP BY 1"
"""A first query, told at the end of a run."""
INCOMPLETE = 3
"""Exit code when episodes are owed still: chains failed, paused, or stopped on request."""


@click.command()
@spec_argument
@click.option("--root", type=click.Path(path_type=Path), help="Storage root, instead of the spec's.")
@click.option(
    "--output", type=click.Choice(["auto", "bars", "json", "quiet"]), default="auto", show_default=True
)
@click.option("--wait", is_flag=True, help="Wait for another run of this sweep to end, instead of refusing.")
def run(spec: Path, root: Path | None, output: Literal["auto", "bars", "json", "quiet"], wait: bool) -> int:
    """Play the sweep in SPEC and print its result table.

    What the lake already holds is not played again: the same command goes on where an earlier one
    ended. The exit code is 0 only when the sweep is complete, and 3 when episodes are still owed.
    """
    from flows.planning import plan
    from flows.spec_file import load_spec

    loaded = load_spec(spec)
    if root is not None:
        storage = loaded.storage.model_copy(update={"root": str(root)})
        loaded = loaded.model_copy(update={"storage": storage})
    expanded = plan(loaded, os.environ)
    again = command_given(click.get_current_context())
    listener = _listener(output)
    try:
        with redirect_stdout(sys.stderr):  # Ray tells there of workers that died, in the middle of JSON lines
            outcome = _run(expanded, listener, wait, again)
    finally:
        listener.close()
    _tell_end(expanded, outcome, output, again)
    return 0 if outcome.complete else INCOMPLETE


def _listener(output: str) -> Listener:
    from rich.console import Console

    from flows.progress import Bars, JsonLines, Lasting, Plain, Silent

    if output == "json":
        return JsonLines(Lasting(sys.stdout))
    if output == "quiet":
        return Silent()
    console = Console(file=cast(TextIO, Lasting(sys.stderr)))
    return Bars(console) if output == "bars" or console.is_terminal else Plain(console)


def _run(expanded: Plan, listener: Listener, wait: bool, again: str) -> SweepOutcome:
    """Open the lake, start the services around the flow, and play."""
    from flows.prefect_server import PrefectServer
    from flows.quiet import quiet_services
    from flows.sweep_record import holding_sweep, record_sweep

    root = Path(expanded.spec.storage.root)
    with holding_sweep(root, expanded.spec.name, wait=wait, tell=listener.note):
        record_sweep(root, expanded)
        quiet_services()
        listener.stage("starting the Prefect server")
        server = PrefectServer.start(root / expanded.spec.name / "prefect")
        try:
            return asyncio.run(_play(expanded, listener, server, again))
        except asyncio.CancelledError as cancelled:
            raise click.Abort from cancelled
        finally:
            server.stop()


async def _play(expanded: Plan, listener: Listener, server: PrefectServer, again: str) -> SweepOutcome:
    from flows.cli.interrupts import Interrupts
    from flows.runtime import open_runtime

    interrupts = Interrupts(again)
    interrupts.install()
    interrupts.starting()
    try:
        async with open_runtime(expanded, listener, again=again) as runtime:
            listener.stage("waiting for the Prefect server")
            await asyncio.to_thread(server.wait_ready, told=listener.note)
            from flows.prefect_leftovers import settle
            from flows.sweep import sweep_here

            await settle(server)
            playing = asyncio.ensure_future(sweep_here(runtime))
            begun = asyncio.ensure_future(runtime.begun.wait())
            try:
                await asyncio.wait((playing, begun), return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:  # as the flow began: no chain may outlive the services
                playing.cancel()
                await asyncio.wait((playing,))
                raise
            interrupts.playing(runtime, playing)
            try:
                outcome = await playing
            finally:
                interrupts.closing()
            if server.own is not None and server.own.restarts:
                await settle(server, expanded, outcome)
            return outcome
    finally:
        interrupts.closing()


def _tell_end(expanded: Plan, outcome: SweepOutcome, output: str, again: str) -> None:
    """The result table, and where everything is."""
    import json
    import shlex

    from rich.console import Console

    from dashboards.table import as_json, as_rich
    from flows.endings import advice, owed
    from flows.runtime import tracking_uri
    from knowledge_store.lake.results import results_table

    spec = expanded.spec
    root = Path(spec.storage.root)
    if output != "json":
        for chain in owed(outcome):
            progress = f"{chain.episodes}/{chain.planned}"
            click.echo(f"{chain.status}: {chain.chain} at {progress}  {chain.message}", err=True)
    results = results_table(root, spec.name)
    if output == "json":
        chains = [
            {
                "chain": chain.chain,
                "status": str(chain.status),
                "episodes": chain.episodes,
                "planned": chain.planned,
                "message": chain.message,
            }
            for chain in outcome.chains
        ]
        click.echo(
            json.dumps(
                {
                    "event": "sweep_ended",
                    "complete": outcome.complete,
                    "status": str(outcome.status),
                    "next": advice(outcome, again),
                    "chains": chains,
                    "results": as_json(results),
                }
            )
        )
        return
    if output != "quiet":
        console = Console()
        console.print(as_rich(results, console.width))
        first = outcome.chains[0].chain
        given = shlex.quote(str(root))
        click.echo(f'lake       {root}/{spec.name}    ocm sql --root {given} "{SR_BY_METHOD}"')
        click.echo(f"knowledge  ocm knowledge log {first} --root {given}")
        click.echo(f"MLflow     mlflow ui --backend-store-uri {shlex.quote(tracking_uri(spec))}")
    sys.stdout.flush()
    for line in advice(outcome, again):
        click.echo(line, err=True)
