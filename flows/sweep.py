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
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from prefect import flow
from prefect.artifacts import acreate_markdown_artifact, acreate_progress_artifact, aupdate_progress_artifact
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound, PrefectException

from dashboards.table import as_markdown
from flows.chain import ChainFailed, chain_task
from flows.planning import ChainPlan, plan
from flows.playing import ChainOutcome, ChainStatus, committed
from flows.runtime import Runtime, current, open_sweep
from knowledge_store.lake.ranks import rank
from knowledge_store.lake.results import results_table
from ocm.errors import StorageError
from ocm.spec import SweepSpec
from tasks.track import Tracker

log = logging.getLogger(__name__)

NO_DEPLOYMENT = (
    "orchestration: Prefect has no deployment chain/chain; create it with `prefect deploy --all` and start a "
    'worker, or set dispatch = "local"'
)
ARTIFACT_SECONDS = 5.0
"""Between two updates of the progress artifact."""


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """How all chains ended."""

    chains: tuple[ChainOutcome, ...]

    @property
    def complete(self) -> bool:
        return all(chain.status is ChainStatus.COMPLETE for chain in self.chains)


@flow(name="sweep", flow_run_name="{spec.name}", persist_result=False)
async def sweep(spec: SweepSpec) -> SweepOutcome:
    """Play all chains of a sweep; the same call goes on where an earlier one ended."""
    async with AsyncExitStack() as stack:
        runtime = current()
        if runtime is None:
            runtime = await stack.enter_async_context(open_sweep(plan(spec, os.environ)))
        runtime.begun.set()
        chains = runtime.plan.chains
        done = {chain.id: committed(runtime, chain) for chain in chains}
        runtime.listener.sweep_started(runtime.plan, done)
        dispatch = _by_deployment if spec.run.dispatch == "workpool" else _as_task
        reporter = asyncio.create_task(_report_progress(runtime))
        try:
            ended = await asyncio.gather(
                *(dispatch(runtime, chain) for chain in chains), return_exceptions=True
            )
        finally:
            reporter.cancel()
        outcome = SweepOutcome(tuple(one for one in ended if isinstance(one, ChainOutcome)))
        faults = [one for one in ended if isinstance(one, BaseException)]
        try:
            await _publish_table(runtime, _status(outcome, faults))
        except StorageError as error:
            log.warning("no result table: %s", error)
        if faults:
            raise BaseExceptionGroup("some chains ended on a fault of the program itself", faults)
        return outcome


def _status(outcome: SweepOutcome, faults: Sequence[BaseException]) -> str:
    """The sweep as a whole: as its worst chain."""
    statuses = {chain.status for chain in outcome.chains}
    if faults or ChainStatus.FAILED in statuses:
        return str(ChainStatus.FAILED)
    return str(ChainStatus.STOPPED if ChainStatus.STOPPED in statuses else ChainStatus.COMPLETE)


async def _as_task(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    shown = chain_task.with_options(task_run_name=chain.label, tags=_tags(chain))
    try:
        return await shown(chain.id)
    except ChainFailed as failed:
        return failed.outcome
    except (PrefectException, httpx.HTTPError) as error:
        return await _from_lake(runtime, chain, f"Prefect: {error}")


async def _by_deployment(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    """Wait for a flow run of the ``chain`` deployment, then look into the lake how far it came."""
    spec = runtime.plan.spec
    storage = spec.storage.model_copy(update={"root": str(runtime.root.resolve())})
    try:
        run = await arun_deployment(
            name="chain/chain",
            parameters={
                "spec": spec.model_copy(update={"storage": storage}).model_dump(mode="json"),
                "chain": chain.id,
            },
            flow_run_name=chain.label,
            tags=_tags(chain),
        )
    except ObjectNotFound:
        outcome = await _from_lake(runtime, chain, NO_DEPLOYMENT)
        runtime.listener.chain_ended(chain, str(outcome.status), outcome.message)
        return outcome
    outcome = await _from_lake(runtime, chain, f"flow run {run.name} ended as {run.state_name}")
    runtime.listener.chain_ended(chain, str(outcome.status), outcome.message)
    return outcome


def _tags(chain: ChainPlan) -> list[str]:
    key = chain.key
    return [key.method, key.environment, key.backbone, f"seed-{key.seed}"]


async def _from_lake(runtime: Runtime, chain: ChainPlan, otherwise: str) -> ChainOutcome:
    """How a chain ended, by what the lake holds; ``otherwise`` says what is known if it is not whole."""
    done = await asyncio.to_thread(committed, runtime, chain)
    if done >= len(chain.tasks):
        return ChainOutcome(chain.id, ChainStatus.COMPLETE, done, len(chain.tasks))
    return ChainOutcome(chain.id, ChainStatus.FAILED, done, len(chain.tasks), otherwise)


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
