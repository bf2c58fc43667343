"""A chain as a flow run of the ``chain`` deployment, which a Prefect worker somewhere plays.

Nothing is read back from it but its last state: how far it came stands in the lake.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
from prefect import get_client
from prefect.client.schemas.objects import State
from prefect.deployments import arun_deployment
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.states import Cancelling

from flows.chain import chain_tags
from flows.endings import status_of
from flows.planning import ChainPlan
from flows.playing import ChainOutcome, ChainStatus, committed
from flows.runtime import Runtime

log = logging.getLogger(__name__)

NO_DEPLOYMENT = (
    "orchestration: Prefect has no deployment chain/chain; create it with `prefect deploy --all` and start a "
    'worker, or set dispatch = "local"'
)
ASK_SECONDS = 3.0
"""Between two looks at a chain's flow run."""
UNANSWERED = (PrefectException, httpx.HTTPError)


async def chain_by_deployment(runtime: Runtime, chain: ChainPlan) -> ChainOutcome:
    """Start the flow run, wait for its end, then look into the lake how far it came.

    When the sweep is to stop, or is cut short, so is the flow run.
    """
    try:
        run = await arun_deployment(
            name="chain/chain",
            parameters={"spec": _spec(runtime), "chain": chain.id},
            flow_run_name=chain.label,
            tags=chain_tags(chain),
            timeout=0,
        )
    except UNANSWERED as error:
        message = NO_DEPLOYMENT if isinstance(error, ObjectNotFound) else f"Prefect: {error}"
        outcome = await _outcome(runtime, chain, ChainStatus.FAILED, message)
    else:
        state = await _last_state(runtime, run.id)
        ended = f"flow run {run.name} ended as {state.name}"
        message = f"{ended}: {state.message}" if state.message else ended
        outcome = await _outcome(runtime, chain, status_of(state), message)
    runtime.listener.chain_ended(chain, str(outcome.status), outcome.message)
    return outcome


def _spec(runtime: Runtime) -> dict[str, Any]:
    spec = runtime.plan.spec
    storage = spec.storage.model_copy(update={"root": str(runtime.root.resolve())})
    return spec.model_copy(update={"storage": storage}).model_dump(mode="json")


async def _last_state(runtime: Runtime, run: UUID) -> State[Any]:
    """Ask until the flow run has ended, however long Prefect does not answer in between."""
    asked = False
    try:
        while True:
            if runtime.stop.is_set() and not asked:
                asked = await _cancel(run)
            state = await _state(run)
            if state is not None and state.is_final():
                return state
            await _pause(runtime, asked)
    except asyncio.CancelledError:
        await _cancel(run)
        raise


async def _pause(runtime: Runtime, asked: bool) -> None:
    """Until the next question; less when the sweep is asked to stop meanwhile."""
    if asked:
        await asyncio.sleep(ASK_SECONDS)
        return
    waiting = asyncio.create_task(runtime.stop.wait())
    await asyncio.wait([waiting], timeout=ASK_SECONDS)
    waiting.cancel()


async def _state(run: UUID) -> State[Any] | None:
    try:
        async with get_client() as client:
            return (await client.read_flow_run(run)).state
    except UNANSWERED as error:
        log.warning("Prefect does not tell of flow run %s: %s; asked again in %s s", run, error, ASK_SECONDS)
        return None


async def _cancel(run: UUID) -> bool:
    """Ask Prefect to end the flow run, as its Cancel button does; whether it took the request."""
    try:
        async with get_client() as client:
            await client.set_flow_run_state(run, Cancelling(message="The sweep was asked to stop."))
    except UNANSWERED as error:
        log.warning("Prefect did not take that flow run %s is to end: %s", run, error)
        return False
    return True


async def _outcome(runtime: Runtime, chain: ChainPlan, status: ChainStatus, message: str) -> ChainOutcome:
    """What the lake holds counts more than what Prefect tells."""
    done = await asyncio.to_thread(committed, runtime, chain)
    outcome = ChainOutcome(chain.id, status, done, len(chain.tasks), message)
    if done >= len(chain.tasks):
        return replace(outcome, status=ChainStatus.COMPLETE, message="")
    return replace(outcome, status=ChainStatus.FAILED) if status is ChainStatus.COMPLETE else outcome
