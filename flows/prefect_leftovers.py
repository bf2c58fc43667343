"""Runs that a Prefect server of our own shows as unfinished though nobody plays them.

A driver that was killed could not tell its end, and what a server had not written down yet when it was killed
is lost. Only a server of our own is mended, since there nobody else has runs.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
from prefect import get_client
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import PrefectException
from prefect.states import Completed, Crashed

from flows.endings import SweepOutcome, chain_state
from flows.planning import Plan
from flows.prefect_client import deliver
from flows.prefect_server import DELIVER_SECONDS, PrefectServer

log = logging.getLogger(__name__)

RECORD_SECONDS = 2.0
"""How long a server may take to write down what it has been told."""
OPEN = {"state": {"type": {"any_": [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]}}}


async def settle(
    server: PrefectServer, plan: Plan | None = None, outcome: SweepOutcome | None = None
) -> None:
    """End all open runs: as killed before a sweep begins, or as ``outcome`` tells after it."""
    if server.own is None:
        return
    ends: dict[str, State[Any]] = {}
    otherwise: State[Any] = Crashed(message="Its process was killed. The same command goes on.")
    if plan is not None and outcome is not None:
        labels = {chain.id: chain.label for chain in plan.chains}
        ends = {labels[one.chain]: chain_state(one) for one in outcome.chains}
        otherwise = Completed(message="Its end was lost with the Prefect server; the lake has it.")
        # what is still to be told or written down would come after
        await asyncio.to_thread(deliver, DELIVER_SECONDS)
        await asyncio.sleep(RECORD_SECONDS)
    try:
        async with get_client() as client:
            for task in await client.read_task_runs(task_run_filter=TaskRunFilter.model_validate(OPEN)):
                await client.set_task_run_state(task.id, ends.get(task.name, otherwise), force=True)
            if outcome is None:
                for run in await client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(OPEN)):
                    await client.set_flow_run_state(run.id, otherwise, force=True)
    except (PrefectException, httpx.HTTPError) as error:
        log.warning(
            "Prefect does not take the end of earlier runs: %s; its pages show them unfinished", error
        )
