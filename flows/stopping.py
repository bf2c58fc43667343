"""Requests to end early, where a flow runs: Prefect's Cancel button, and signals of whoever started it.

All lead to the same: ``runtime.stop`` is set, and each chain stops before its next model call.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any
from uuid import UUID

import httpx
from prefect import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException

from flows.endings import asks_to_stop
from flows.runtime import Runtime

log = logging.getLogger(__name__)

ASK_SECONDS = 2.0
"""Between two questions to Prefect whether the flow run is to end."""
Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop(runtime: Runtime, who: str) -> None:
    """Ask all chains to stop, and tell how to go on."""
    if runtime.stop.is_set():
        return
    runtime.stop.set()
    runtime.listener.note(
        f"{who}: stopping. Each chain ends before its next model call; an episode under way goes on from its "
        f"journal. To go on: {runtime.again}"
    )


@asynccontextmanager
async def heeding_prefect(runtime: Runtime) -> AsyncIterator[None]:
    """Stop when somebody cancels, pauses or suspends the flow run around in Prefect."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        yield
        return
    asking = asyncio.create_task(_ask(runtime, context.flow_run.id))
    try:
        yield
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


async def _ask(runtime: Runtime, run: UUID) -> None:
    while not runtime.stop.is_set():
        await asyncio.sleep(ASK_SECONDS)
        try:
            async with get_client() as client:
                state = (await client.read_flow_run(run)).state
        except (PrefectException, httpx.HTTPError) as error:
            log.info("Prefect does not answer: %s; asked again in %s s", error, ASK_SECONDS)
            continue
        if asks_to_stop(state):
            stop(runtime, f"the flow run was asked to end in Prefect ({state.name if state else ''})")


@asynccontextmanager
async def heeding_signals(runtime: Runtime) -> AsyncIterator[None]:
    """Within a flow that a worker has started: its SIGTERM stops the chains instead of killing them.

    A worker sends SIGKILL some 30 s later; what is committed or journaled by then is not lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = take_signals(
        lambda number: loop.call_soon_threadsafe(stop, runtime, signal.Signals(number).name)
    )
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def take_signals(act: Callable[[int], object]) -> dict[signal.Signals, Handler]:
    """Call ``act`` in the main thread on each request to end, except those that the caller wants ignored, as
    ``nohup`` does; the handlers so far."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heeded = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, lambda number, _: act(number))
    return heeded
