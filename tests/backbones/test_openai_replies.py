"""Replies: their parts, unusual endings, what goes over the wire, limits; a backbone behind HTTP."""

from __future__ import annotations

import asyncio

import pytest

from backbones.openai_client import OpenAIClient
from backbones.wire import request_seed
from ocm.spec import OpenAIBackbone, Prices
from ocm.types import Message, Request, Usage
from tests.backbones.asking import ENVIRON, KEY, REQUEST, SCHEMA, STRUCTURED, Script, client
from tests.backbones.loopback import (
    LoopbackServer,
    Text,
    answering,
)

pytestmark = pytest.mark.asyncio


async def test_a_reply_has_all_its_parts() -> None:
    usage = Usage(prompt=1000, completion=100, cached=600, reasoning=40)
    answer = Text("hello", usage=usage, model="gpt-4.1-mini-2025-04-14", fingerprint="fp_1")
    async with LoopbackServer(Script(answer), key=KEY) as server:
        backbone = client(server)
        reply = await backbone.complete(REQUEST)
        await backbone.close()
        await backbone.close()
    assert (reply.text, reply.finish_reason, reply.usage) == ("hello", "stop", usage)
    assert (reply.model, reply.fingerprint, reply.attempts) == ("gpt-4.1-mini-2025-04-14", "fp_1", 1)
    assert reply.cost == pytest.approx((400 * 0.4 + 600 * 0.1 + 100 * 1.6) * 1e-6)
    assert reply.latency > 0


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (Text("cut", "length"), "cut", "length"),
        (Text(None, "content_filter"), "", "content_filter"),
        (Text("said", extra={"reasoning_content": "thought"}), "said", "stop"),
    ],
)
async def test_unusual_endings_are_replies(answer: Text, text: str, finish: str) -> None:
    async with LoopbackServer(Script(answer)) as server:
        backbone = client(server)
        reply = await backbone.complete(REQUEST)
        await backbone.close()
    assert (reply.text, reply.finish_reason, reply.attempts) == (text, finish, 1)


async def test_missing_usage_is_an_unknown_cost() -> None:
    async with LoopbackServer(Script(Text("hi", usage=None))) as server:
        backbone = client(server)
        reply = await backbone.complete(REQUEST)
        await backbone.close()
    assert (reply.usage, reply.cost) == (Usage(), None)


async def test_unknown_models_have_an_unknown_cost_and_the_spec_can_say_it() -> None:
    async with LoopbackServer(Script(Text("hi", usage=Usage(10, 1)))) as server:
        unknown, told = (
            client(server, model="m"),
            client(server, model="m", prices=Prices(input=1, output=2)),
        )
        assert (await unknown.complete(REQUEST)).cost is None
        assert (await told.complete(REQUEST)).cost == pytest.approx(12e-6)
        await unknown.close()
        await told.close()


async def test_what_goes_over_the_wire() -> None:
    halved = Request("act", (Message("user", "é \ud83d!"),), SCHEMA, "chain", 3, 9)
    async with LoopbackServer(key=KEY) as server:
        backbone = client(server, reasoning_effort="low", send_temperature=False)
        await backbone.complete(halved)
        await backbone.close()
    (sent,) = server.received
    form = sent.body.pop("response_format")
    assert sent.path == "/v1/chat/completions"
    assert sent.body == {
        "model": "gpt-4.1-mini",
        "messages": [{"role": "user", "content": "é \N{REPLACEMENT CHARACTER}!"}],
        "max_completion_tokens": 4096,
        "reasoning_effort": "low",
        "seed": request_seed(halved),
    }
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)


async def test_one_pool_with_a_limit_serves_all_chains() -> None:
    async with LoopbackServer(latency=lambda _: 0.02) as server:
        backbone = client(server, max_connections=4)
        replies = await asyncio.gather(*[backbone.complete(REQUEST) for _ in range(24)])
        await backbone.close()
        assert len(replies) == 24 and server.most_at_once == 4


async def test_the_rate_limit_holds_requests_back() -> None:
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async with LoopbackServer() as server:
        spec = OpenAIBackbone(model="m", base_url=server.base_url, requests_per_minute=2)
        backbone = OpenAIClient(spec, ENVIRON, sleep=sleep, clock=lambda: now[0])
        replies = [await backbone.complete(REQUEST) for _ in range(3)]
        await backbone.close()
    assert now[0] == pytest.approx(60.0)
    assert [reply.latency for reply in replies] == pytest.approx([0.0, 0.0, 60.0])


async def test_any_backbone_can_answer_over_http() -> None:
    async with LoopbackServer(Script(Text('{"plan": "x"}', usage=Usage(5, 6)))) as inner:
        behind = client(inner)
        async with LoopbackServer(answering(behind)) as outer:
            front = client(outer)
            reply = await front.complete(STRUCTURED)
            await front.close()
        await behind.close()
        schema = inner.received[0].body["response_format"]["json_schema"]["schema"]
    assert (reply.text, reply.usage) == ('{"plan": "x"}', Usage(5, 6))
    assert schema["properties"] == SCHEMA["properties"]
