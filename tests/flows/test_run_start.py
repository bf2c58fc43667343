"""A request to end that comes while Prefect begins the flow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows import prefect_leftovers, runtime, sweep
from flows.cli import interrupts
from flows.cli.run import _play
from flows.progress import Silent


async def test_no_chain_outlives_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    begins = asyncio.Event()

    @asynccontextmanager
    async def services(*_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
        try:
            yield SimpleNamespace(begun=asyncio.Event())
        finally:
            told.append("services close")

    async def flow(_: object) -> None:
        begins.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.append("flow ended")

    async def nothing(*_: object) -> None: ...

    monkeypatch.setattr(interrupts, "take_signals", lambda _: {})
    monkeypatch.setattr(runtime, "open_runtime", services)
    monkeypatch.setattr(prefect_leftovers, "settle", nothing)
    monkeypatch.setattr(sweep, "sweep_here", flow)
    server = SimpleNamespace(wait_ready=lambda told: None, own=None)
    running = asyncio.ensure_future(_play(cast(Any, None), Silent(), cast(Any, server), "again"))
    await begins.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert told == ["flow ended", "services close"]
