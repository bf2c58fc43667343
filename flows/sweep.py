"""The ``sweep`` flow: one Prefect task per chain, side by side, and a table at the end.

A chain is one Prefect task when the sweep runs in one process, and one flow run of the ``chain``
deployment when ``dispatch = "workpool"``: finer units cost more than they show. Nothing is read
back from Prefect; if its API hiccups, the chains go on.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact, acreate_progress_artifact, aupdate_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.deployments import arun_deployment
from prefect.exceptions import PrefectException

from dashboards.table import as_markdown
from flows.chain import ChainOutcome, ChainStatus, committed, play_chain
from flows.planning import ChainPlan, Plan, plan
from flows.runtime import Runtime, current, open_runtime
from knowledge_store.lake.results import results_table
from ocm.spec import SweepSpec
from tasks.bench import StageRunner, run_plainly

T = TypeVar("T")
log = logging.getLogger(__name__)

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
            runtime = await stack.enter_async_context(open_runtime(plan(spec, os.environ)))
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
        await _publish_table(runtime)
        if faults := [one for one in ended if isinstance(one, BaseException)]:
            raise BaseExceptionGroup("some chains ended on a fault of the program itself", faults)
        return SweepOutcome(tuple(one for one in ended if isinstance(one, ChainOutcome)))


@task(name="chain", cache_policy=NO_CACHE, persist_result=False, cache_result_in_memory=False)
async def chain_task(chain: str) -> ChainOutcome:
    """One chain of the runtime around it, by id. Its failure shows in Prefect as a failed task run."""
    runtime = current()
    assert runtime is not None, "a chain task runs inside the sweep flow"
    one = next(one for one in runtime.plan.chains if one.id == chain)
    outcome = await play_chain(runtime, one, *runners(runtime.plan.spec.run.prefect_detail))
    if outcome.status is ChainStatus.FAILED:
        raise ChainFailed(outcome)
    return outcome


class ChainFailed(Exception):
    """Carries the outcome of a failed chain through Prefect, which shows its message."""

    def __init__(self, outcome: ChainOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


async def _as_task(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    key = chain.key
    shown = chain_task.with_options(task_run_name=chain.label).with_options(
        tags=[key.method, key.environment, key.backbone, f"seed-{key.seed}"]
    )
    try:
        return await shown(chain.id)
    except ChainFailed as failed:
        return failed.outcome


@flow(name="chain", flow_run_name="{chain}", persist_result=False)
async def chain(spec: SweepSpec, chain: str) -> None:
    """One chain as a flow run of its own, on whichever machine a worker picks it up."""
    whole = plan(spec, os.environ)
    mine = tuple(one for one in whole.chains if one.id == chain)
    if not mine:
        raise ValueError(f"the spec has no chain {chain}; it has {', '.join(one.id for one in whole.chains)}")
    async with open_runtime(Plan(spec, mine)) as runtime:
        outcome = await play_chain(runtime, mine[0], *runners(spec.run.prefect_detail))
    if outcome.status is ChainStatus.FAILED:
        raise ChainFailed(outcome)


async def _by_deployment(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    """Wait for a flow run of the ``chain`` deployment, then look into the lake how far it came."""
    run = await arun_deployment(
        name="chain/chain",
        parameters={"spec": runtime.plan.spec.model_dump(mode="json"), "chain": chain.id},
        flow_run_name=chain.label,
        tags=[chain.key.method, chain.key.environment, chain.key.backbone, f"seed-{chain.key.seed}"],
    )
    done = await asyncio.to_thread(committed, runtime, chain)
    complete = done >= len(chain.tasks)
    message = "" if complete else f"flow run {run.name} ended as {run.state_name}"
    status = ChainStatus.COMPLETE if complete else ChainStatus.FAILED
    runtime.listener.chain_ended(chain, str(status), message)
    return ChainOutcome(chain.id, status, done, len(chain.tasks), message)


def runners(detail: str) -> tuple[StageRunner, StageRunner]:
    """What runs an episode and what runs a stage: plainly, or as a Prefect task run to watch."""
    episode = run_plainly if detail == "chain" else _as_task_run
    stage = _as_task_run if detail == "stage" else run_plainly
    return episode, stage


async def _as_task_run(name: str, work: Callable[[], Awaitable[T]]) -> T:
    @task(name=name, cache_policy=NO_CACHE, persist_result=False, cache_result_in_memory=False)
    async def run() -> T:
        return await work()

    return await run()


# --- artifacts ---------------------------------------------------------------------------------


async def _report_progress(runtime: Runtime) -> None:
    """Keep one progress artifact up to date until cancelled."""
    total = runtime.plan.episodes or 1
    key = f"{runtime.plan.spec.name.lower()}-progress"
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


async def _publish_table(runtime: Runtime) -> None:
    """The result table as artifact in Prefect and on the parent run in MLflow."""
    name = runtime.plan.spec.name
    results = await asyncio.to_thread(results_table, runtime.root, name)
    table = as_markdown(results)
    aggregates = {
        f"{measure}{part}/{row.cell.method}/{row.cell.environment}/{row.cell.backbone}": value
        for row in results
        for measure, found in row.measures.items()
        for part, value in (("", found.mean), ("_low", found.low), ("_high", found.high))
        if value is not None
    }
    await runtime.tracker.finish_sweep(aggregates, table)
    try:
        await acreate_markdown_artifact(table, key=f"{name.lower()}-results")
    except (PrefectException, httpx.HTTPError) as error:
        log.warning("Prefect did not take the result table: %s; it is in the lake", error)
