"""The ``sweep`` flow: one Prefect task per chain, side by side, and a table at the end.

A chain is one Prefect task when the sweep runs in one process, and one flow run of the ``chain``
deployment when ``dispatch = "workpool"``: finer units cost more than they show. Nothing is read
back from Prefect; if its API hiccups, the chains go on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from prefect import flow
from prefect.artifacts import acreate_markdown_artifact, acreate_progress_artifact, aupdate_progress_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import PrefectException

from dashboards.table import as_markdown
from flows.chain import Body, chain_as_task
from flows.dispatch import chain_by_deployment
from flows.endings import SweepOutcome, ended_at_once, sweep_state
from flows.planning import ChainPlan, plan
from flows.playing import ChainOutcome, ChainStatus, committed
from flows.runtime import Runtime, open_sweep
from flows.shown import shown
from flows.stopping import heeding_prefect, heeding_signals
from knowledge_store.lake.ranks import rank
from knowledge_store.lake.results import results_table
from ocm.errors import StorageError
from ocm.spec import SweepSpec
from tasks.track import Tracker

log = logging.getLogger(__name__)

ARTIFACT_SECONDS = 5.0
"""Between two updates of the progress artifact."""


AGAIN = "run the deployment again with the same parameters"


@flow(name="sweep", flow_run_name="{spec.name}", persist_result=False)
async def sweep(spec: SweepSpec) -> State[Any]:
    """A whole sweep, as a worker starts it; the same parameters go on where an earlier run ended."""
    async with open_sweep(plan(spec, os.environ), again=AGAIN) as runtime, heeding_signals(runtime):
        outcome = await play_sweep(runtime)
    return sweep_state(outcome, AGAIN)


async def sweep_here(runtime: Runtime) -> SweepOutcome:
    """Play the runtime's sweep in a flow run of this process; Prefect's own failures never reach it.

    Raises:
        BaseExceptionGroup: a fault of the program itself ended some chains.
    """

    async def view(body: Body) -> object:
        @flow(name="sweep", flow_run_name="{spec.name}", persist_result=False, validate_parameters=False)
        async def sweep(spec: SweepSpec) -> State[Any] | None:
            return await body()

        return await sweep(runtime.plan.spec, return_state=True)

    return await shown(
        view,
        lambda: play_sweep(runtime),
        lambda outcome: sweep_state(outcome, runtime.again),
        lambda: ended_at_once(runtime.again),
    )


async def play_sweep(runtime: Runtime) -> SweepOutcome:
    """Play all chains side by side, each as its spec's dispatch says, and publish the results.

    Raises:
        BaseExceptionGroup: a fault of the program itself ended some chains.
    """
    runtime.begun.set()
    chains = runtime.plan.chains
    done = {chain.id: committed(runtime, chain) for chain in chains}
    runtime.listener.sweep_started(runtime.plan, done)
    dispatch = chain_by_deployment if runtime.plan.spec.run.dispatch == "workpool" else chain_as_task
    reporter = asyncio.create_task(_report_progress(runtime))
    try:
        async with heeding_prefect(runtime):
            ended = await asyncio.gather(
                *(dispatch(runtime, chain) for chain in chains), return_exceptions=True
            )
    finally:
        reporter.cancel()
    outcome = SweepOutcome(tuple(one for one in ended if isinstance(one, ChainOutcome)))
    faults = [one for one in ended if isinstance(one, BaseException)]
    try:
        await _publish_table(runtime, str(ChainStatus.FAILED if faults else outcome.status))
    except StorageError as error:
        log.warning("no result table: %s", error)
    if faults:
        raise BaseExceptionGroup("some chains ended on a fault of the program itself", faults)
    return outcome


# --- artifacts ---------------------------------------------------------------------------------


async def _report_progress(runtime: Runtime) -> None:
    """Keep one progress artifact up to date until cancelled."""
    total = runtime.plan.episodes or 1
    key = artifact_key(runtime.plan.spec.name, "progress")
    artifact: Any = None
    while True:
        done = await asyncio.to_thread(_done, runtime, runtime.plan.chains)
        share = 100.0 * done / total
        text = f"{done} of {total} episodes"
        try:
            if artifact is None:
                artifact = await acreate_progress_artifact(share, key, text)
            else:
                await aupdate_progress_artifact(artifact, share, text)
        except (PrefectException, httpx.HTTPError) as error:
            log.warning("Prefect did not take the progress: %s; the sweep goes on", error)
        await asyncio.sleep(ARTIFACT_SECONDS)


def _done(runtime: Runtime, chains: Sequence[ChainPlan]) -> int:
    return sum(committed(runtime, chain) for chain in chains)


async def _publish_table(runtime: Runtime, status: str) -> None:
    """The result table as artifact in Prefect and on the parent run in MLflow."""
    name = runtime.plan.spec.name
    table = await publish_results(runtime.tracker, runtime.root, name, status)
    try:
        await acreate_markdown_artifact(table, key=artifact_key(name, "results"))
    except (PrefectException, httpx.HTTPError) as error:
        log.warning("Prefect did not take the result table: %s; it is in the lake", error)


async def publish_results(tracker: Tracker, root: Path, sweep_name: str, status: str) -> str:
    """Put means and intervals on the parent run in MLflow; returns the table as Markdown."""
    results = await asyncio.to_thread(results_table, root, sweep_name)
    aggregates = {
        f"{measure}{part}/{row.cell.method}/{row.cell.environment}/{row.cell.backbone}": value
        for row in results
        for measure, found in row.measures.items()
        for part, value in (("", found.mean), ("_low", found.low), ("_high", found.high))
        if value is not None
    }
    ranking = rank(results)
    aggregates |= {
        f"average_rank/{method}/{backbone}": one.mean
        for (backbone, method), one in ranking.by.items()
        if one.mean is not None
    }
    table = as_markdown(results, ranking)
    await tracker.finish_sweep(aggregates, table, status)
    return table


def artifact_key(sweep_name: str, what: str) -> str:
    """A key as Prefect allows it: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", f"{sweep_name}-{what}".lower()).strip("-")
