"""A chain in Prefect: one task of the sweep flow, or one flow run of its own.

Finer units cost more than they show; ``prefect_detail`` asks for them where somebody wants to watch.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.planning import Plan, plan
from flows.playing import ChainOutcome, ChainStatus, play_chain
from flows.runtime import current, open_runtime
from ocm.spec import SweepSpec
from tasks.bench import StageRunner, run_plainly

T = TypeVar("T")


class ChainFailed(Exception):
    """Carries the outcome of a failed chain through Prefect, which shows its message."""

    def __init__(self, outcome: ChainOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


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


@flow(name="chain", flow_run_name="{chain}", persist_result=False)
async def chain(spec: SweepSpec, chain: str) -> None:
    """One chain as a flow run of its own, on whichever machine a worker picks it up."""
    whole = plan(spec, os.environ)
    mine = tuple(one for one in whole.chains if one.id == chain)
    if not mine:
        raise ValueError(f"the spec has no chain {chain}; it has {', '.join(one.id for one in whole.chains)}")
    async with open_runtime(Plan(spec, mine), drives_sweep=False) as runtime:
        outcome = await play_chain(runtime, mine[0], *runners(spec.run.prefect_detail))
    if outcome.status is ChainStatus.FAILED:
        raise ChainFailed(outcome)


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
