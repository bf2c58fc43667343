"""The key by which a server knows that a request is the same again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ocm.types import Message, Request
from tests.backbones.asking import REQUEST, STRUCTURED, Script, client
from tests.backbones.loopback import Answer, LoopbackServer, Raw, Reset, Status


async def keys(
    *answers: Answer, request: Request = REQUEST, refuses: frozenset[str] = frozenset()
) -> list[str]:
    """The keys that a new client sends."""
    async with LoopbackServer(Script(*answers), refuses=refuses) as server:
        backbone = client(server)
        await backbone.complete(request)
        await backbone.close()
        return [received.headers["idempotency-key"] for received in server.received]


@pytest.mark.parametrize("fault", [Reset(), Status(500), Status(429), Status(503)], ids=str)
async def test_all_tries_of_a_call_have_one_key_also_in_another_process(fault: Answer) -> None:
    found = await keys(fault, fault, "fine")
    assert len(found) == 3 and len(set(found)) == 1 and len(found[0]) == 64
    assert await keys("fine") == found[:1]


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, chain="another"),
        replace(REQUEST, episode=4),
        replace(REQUEST, call=8),
        replace(REQUEST, messages=(Message("user", "another"),)),
        replace(REQUEST, temperature=1.0),
    ],
)
async def test_other_calls_and_contents_have_other_keys(other: Request) -> None:
    assert await keys("fine") != await keys("fine", request=other)


async def test_a_reply_that_cannot_be_read_is_not_asked_for_again() -> None:
    found = await keys(Raw("{not json"), Raw("{not json"), "fine")
    assert len(set(found)) == 3


async def test_a_plainer_form_of_a_request_is_another_one() -> None:
    found = await keys("{}", request=STRUCTURED, refuses=frozenset({"json_schema"}))
    assert len(set(found)) == 2
