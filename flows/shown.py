"""Work that Prefect shows but does not own.

A task or flow run of Prefect is a view: if its server is away, refuses or forgets, the work goes on. So the
work is called once, its outcome goes around Prefect, and what Prefect itself fails at is only told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from prefect.client.schemas.objects import State
from prefect.exceptions import PrefectSignal
from prefect.states import Cancelled

from flows.budgets import OutOfBudget
from ocm.errors import BackboneDown
from tasks.bench import Stopped

T = TypeVar("T")
log = logging.getLogger(__name__)

EARLY = (Stopped, OutOfBudget, BackboneDown)
"""Endings that are nobody's failure."""


async def shown(
    view: Callable[[Callable[[], Awaitable[State[Any] | None]]], Awaitable[object]],
    work: Callable[[], Awaitable[T]],
    state: Callable[[T], State[Any] | None],
    cut_short: Callable[[], State[Any]] = lambda: Cancelled(message="ended at once on request"),
) -> T:
    """Do the work within a run of Prefect; return or raise what the work does.

    Args:
        view: runs what it is given as a Prefect run, and returns that run's state instead of raising.
        work: called once.
        state: the last state that Prefect shows for what the work returned; None for the usual.
        cut_short: the state for work that was cancelled.
    """
    done: list[T] = []
    raised: list[BaseException] = []

    async def body() -> State[Any] | None:
        try:
            done.append(await work())
        except asyncio.CancelledError as error:
            raised.append(error)
            return cut_short()
        except EARLY as error:
            raised.append(error)
            return Cancelled(message=f"{type(error).__name__}: {error}")
        except Exception as error:
            raised.append(error)
            raise
        return state(done[0])

    try:
        await view(body)
    except (Exception, PrefectSignal) as error:  # noqa: BLE001  Prefect and its client raise kinds of their own
        log.warning("Prefect did not show a run to its end: %s: %s; it goes on", type(error).__name__, error)
    if raised:
        raise raised[0]
    return done[0] if done else await work()
