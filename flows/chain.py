"""A chain in Prefect: one task of the sweep flow, or one flow run of its own.

Finer units cost more than they show; ``prefect_detail`` asks for them where somebody wants to watch.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from flows.endings import chain_state
from flows.planning import ChainPlan, Plan, plan
from flows.playing import ChainOutcome, play_chain
from flows.runtime import Runtime, open_runtime
from flows.shown import shown
from flows.stopping import heeding_prefect, heeding_signals
from ocm.spec import SweepSpec
from tasks.bench import StageRunner, run_plainly

T = TypeVar("T")

Body = Callable[[], Awaitable[State[Any] | None]]


async def chain_as_task(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    """Play a chain as a task run of the flow around; its failure shows there as a failed task run."""
    work = partial(play_chain, runtime, chain, *runners(runtime.plan.spec.run.prefect_detail))
    return await shown(partial(_task_run, "chain", chain.label, chain_tags(chain)), work, chain_state)


def chain_tags(chain: ChainPlan) -> list[str]:
    """What Prefect's pages can be filtered by."""
    key = chain.key
    return [key.method, key.environment, key.backbone, f"seed-{key.seed}"]


@flow(name="chain", flow_run_name="{chain}", persist_result=False)
async def chain(spec: SweepSpec, chain: str) -> State[Any]:
    """One chain as a flow run of its own, on whichever machine a worker picks it up."""
    whole = plan(spec, os.environ)
    mine = tuple(one for one in whole.chains if one.id == chain)
    if not mine:
        raise ValueError(f"the spec has no chain {chain}; it has {', '.join(one.id for one in whole.chains)}")
    async with (
        open_runtime(Plan(spec, mine), drives_sweep=False) as runtime,
        heeding_signals(runtime),
        heeding_prefect(runtime),
    ):
        outcome = await play_chain(runtime, mine[0], *runners(spec.run.prefect_detail))
    return chain_state(outcome)


def runners(detail: str) -> tuple[StageRunner, StageRunner]:
    """What runs an episode and what runs a stage: plainly, or as a Prefect task run to watch."""
    episode = run_plainly if detail == "chain" else _as_task_run
    stage = _as_task_run if detail == "stage" else run_plainly
    return episode, stage


async def _as_task_run(name: str, work: Callable[[], Awaitable[T]]) -> T:
    return await shown(partial(_task_run, name, None, []), work, lambda _: None)


async def _task_run(name: str, run_name: str | None, tags: list[str], body: Body) -> object:
    run: Any = task(
        name=name,
        task_run_name=run_name,
        tags=tags,
        cache_policy=NO_CACHE,
        persist_result=False,
        cache_result_in_memory=False,
    )(body)
    return await run(return_state=True)
