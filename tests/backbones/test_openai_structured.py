"""JSON by schema, and the steps down for servers that refuse it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ocm.errors import BackboneTerminal
from tests.backbones.asking import STRUCTURED, client
from tests.backbones.loopback import (
    Answer,
    LoopbackServer,
    Status,
)

pytestmark = pytest.mark.asyncio


def kinds(server: LoopbackServer) -> list[str]:
    return [seen.body.get("response_format", {}).get("type", "none") for seen in server.received]


@pytest.mark.parametrize(
    ("refuses", "steps"),
    [
        (frozenset[str](), ["json_schema"]),
        (frozenset({"json_schema"}), ["json_schema", "json_object"]),
        (frozenset({"json_schema", "json_object"}), ["json_schema", "json_object", "none"]),
    ],
)
async def test_it_steps_down_and_remembers(
    refuses: frozenset[str], steps: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with LoopbackServer(refuses=refuses) as server:
        backbone = client(server, max_attempts=1)
        with caplog.at_level(logging.WARNING):
            reply = await backbone.complete(STRUCTURED)
        assert (reply.attempts, kinds(server)) == (len(steps), steps)
        assert len(caplog.records) == len(steps) - 1
        await backbone.complete(STRUCTURED)
        assert kinds(server) == [*steps, steps[-1]]
        await backbone.close()


async def test_many_chains_step_down_together() -> None:
    async with LoopbackServer(refuses=frozenset({"json_schema"}), latency=lambda _: 0.01) as server:
        backbone = client(server)
        replies = await asyncio.gather(*[backbone.complete(STRUCTURED) for _ in range(8)])
        await backbone.close()
        assert {reply.attempts for reply in replies} == {2}
        assert kinds(server).count("json_object") == 8 and "none" not in kinds(server)


async def test_a_late_refusal_does_not_step_up_again() -> None:
    others_are_done = asyncio.Event()

    async def refuse(request: dict[str, Any]) -> Answer:
        kind = request.get("response_format", {}).get("type")
        if len(server.received) == 1:
            await others_are_done.wait()
        return Status(400, f"response_format {kind} is not supported") if kind else "ok"

    async with LoopbackServer(refuse) as server:
        backbone = client(server)
        late = asyncio.create_task(backbone.complete(STRUCTURED))
        while not server.received:
            await asyncio.sleep(0.01)
        await backbone.complete(STRUCTURED)
        others_are_done.set()
        await late
        await backbone.close()
        assert kinds(server) == ["json_schema", "json_schema", "json_object", "none", "none"]


async def test_a_fixed_kind_does_not_step_down() -> None:
    async with LoopbackServer(refuses=frozenset({"json_schema"})) as server:
        backbone = client(server, structured_output="json_schema")
        with pytest.raises(BackboneTerminal, match='set structured_output = "auto"'):
            await backbone.complete(STRUCTURED)
        await backbone.close()


async def test_other_refusals_do_not_step_down() -> None:
    async with LoopbackServer(fields=frozenset({"seed"})) as server:
        backbone = client(server)
        with pytest.raises(BackboneTerminal, match="send_seed = false"):
            await backbone.complete(STRUCTURED)
        await backbone.close()
        assert len(server.received) == 1


@pytest.mark.parametrize("kind", ["json_object", "none"])
async def test_the_spec_may_start_lower(kind: str) -> None:
    async with LoopbackServer() as server:
        backbone = client(server, structured_output=kind)
        await backbone.complete(STRUCTURED)
        await backbone.close()
        assert kinds(server) == [kind]
