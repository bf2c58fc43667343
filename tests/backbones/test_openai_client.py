"""The client against the loopback server: replies, retries, structured output, and the key."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import socket
import traceback
from pathlib import Path
from typing import Any

import pytest

from backbones.openai_client import OpenAIClient
from backbones.wire import request_seed
from ocm.errors import BackboneError, BackboneTerminal, BackboneTransient, SpecError
from ocm.spec import OpenAIBackbone, Prices
from ocm.types import Message, Request, Usage
from tests.backbones.loopback import (
    NO_CHOICES,
    Answer,
    Hang,
    LoopbackServer,
    Raw,
    Reset,
    Status,
    Text,
    Trickle,
    answering,
)

pytestmark = pytest.mark.asyncio

KEY = "sk-test-0123456789abcdef"
ENVIRON = {"OPENAI_API_KEY": KEY}
SCHEMA = {"type": "object", "properties": {"plan": {"type": "string"}}}
REQUEST = Request("act", (Message("system", "rules"), Message("user", "go")), None, "chain", 3, 7)
STRUCTURED = Request("reflect", REQUEST.messages, SCHEMA, "chain", 3, 8)


class Sleeps(list[float]):
    """Records pauses instead of taking them."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Script:
    """Answers in this order; the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def __call__(self, request: dict[str, Any]) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def client(server: LoopbackServer, sleeps: Sleeps | None = None, **settings: Any) -> OpenAIClient:
    spec = OpenAIBackbone(**{"model": "gpt-4.1-mini", "base_url": server.base_url, **settings})
    return OpenAIClient(spec, ENVIRON, sleep=Sleeps() if sleeps is None else sleeps)


# --- replies


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


# --- retries

FAULTS = [
    Status(408),
    Status(409),
    Status(429, code="rate_limit_exceeded"),
    Status(500),
    Status(503),
    Raw("<html>bad gateway</html>", 502, "text/html"),
    Raw("{not json"),
    Raw('{"choices": [{"index": 0}]}'),
    NO_CHOICES,
    Reset(in_body=True),
    Reset(in_body=False),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_passing_fault_costs_one_more_request(fault: Answer) -> None:
    sleeps = Sleeps()
    async with LoopbackServer(Script(fault, "fine")) as server:
        backbone = client(server, sleeps)
        reply = await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 2
        assert server.received[0].body == server.received[1].body
    assert (reply.text, reply.attempts) == ("fine", 2)
    assert len(sleeps) == 1 and 0.25 <= sleeps[0] <= 0.5


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_lasting_fault_uses_all_tries(fault: Answer) -> None:
    sleeps = Sleeps()
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server, sleeps, max_attempts=3)
        with pytest.raises(BackboneTransient, match="after 3 tries") as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 3
    assert len(sleeps) == 2 and sleeps[1] > sleeps[0]
    assert (caught.value.details["attempts"], caught.value.details["call"]) == (3, 7)


@pytest.mark.parametrize(
    "fault",
    [Status(status) for status in (400, 401, 403, 404, 422)] + [Status(429, code="insufficient_quota")],
    ids=str,
)
async def test_what_cannot_succeed_is_told_at_once(fault: Status) -> None:
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server)
        with pytest.raises(BackboneTerminal) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 1
    assert caught.value.details["status"] == fault.status


async def test_a_silent_server_times_out() -> None:
    async with LoopbackServer(Script(Hang(), "fine")) as server:
        backbone = client(server, timeout=0.5)
        assert (await backbone.complete(REQUEST)).attempts == 2
        await backbone.close()


async def test_a_reply_that_never_ends_times_out() -> None:
    async with LoopbackServer(Script(Trickle(), "fine")) as server:
        backbone = client(server, timeout=0.5, max_connections=1)
        assert (await backbone.complete(REQUEST)).attempts == 2
        await backbone.close()


async def test_waiting_for_a_turn_does_not_time_out() -> None:
    async with LoopbackServer(latency=lambda _: 0.2) as server:
        backbone = client(server, timeout=0.8, max_connections=1)
        replies = await asyncio.gather(*[backbone.complete(REQUEST) for _ in range(6)])
        await backbone.close()
    assert {reply.attempts for reply in replies} == {1}


async def test_a_lasting_silence_is_said() -> None:
    async with LoopbackServer(Script(Hang())) as server:
        backbone = client(server, timeout=0.05, max_attempts=2)
        with pytest.raises(BackboneTransient, match=r"no answer within 0.05 s.*raise timeout"):
            await backbone.complete(REQUEST)
        await backbone.close()


async def test_retry_after_is_honoured() -> None:
    sleeps = Sleeps()
    busy = [Status(429, headers={"Retry-After": "7"}), Status(503, headers={"retry-after-ms": "1500"})]
    too_long = Status(429, headers={"Retry-After": "86400"})
    async with LoopbackServer(Script(*busy, too_long, "fine")) as server:
        backbone = client(server, sleeps)
        assert (await backbone.complete(REQUEST)).attempts == 4
        await backbone.close()
    assert 7 <= sleeps[0] <= 7.7 and 1.5 <= sleeps[1] <= 1.65 and 120 <= sleeps[2] <= 132


async def test_equal_calls_pause_equally_and_others_do_not() -> None:
    async def pauses(request: Request) -> list[float]:
        sleeps = Sleeps()
        async with LoopbackServer(Script(Status(500), Status(500), "fine")) as server:
            backbone = client(server, sleeps)
            await backbone.complete(request)
            await backbone.close()
        return list(sleeps)

    assert await pauses(REQUEST) == await pauses(REQUEST) != await pauses(STRUCTURED)


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


async def test_an_unreachable_server_is_said_with_the_mend() -> None:
    address = f"http://127.0.0.1:{unused_port()}/v1"
    spec = OpenAIBackbone(model="m", base_url=address, max_attempts=2)
    backbone = OpenAIClient(spec, ENVIRON, sleep=Sleeps())
    with pytest.raises(BackboneTransient) as caught:
        await backbone.complete(REQUEST)
    await backbone.close()
    assert str(caught.value).startswith(f"m: no server answers at {address} (")
    assert "refused" in str(caught.value) and "start it, or set base_url" in str(caught.value)


@pytest.mark.parametrize("in_body", [True, False])
async def test_a_broken_connection_is_no_time_out(in_body: bool) -> None:
    async with LoopbackServer(Script(Reset(in_body))) as server:
        backbone = client(server, max_attempts=1)
        with pytest.raises(BackboneTransient) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    assert caught.value.details["kind"] == "broken connection"


async def test_a_server_that_speaks_no_http_is_a_broken_connection() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        backbone = OpenAIClient(OpenAIBackbone(model="m", base_url=address, max_attempts=1), ENVIRON)
        with pytest.raises(BackboneTransient) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    assert caught.value.details["kind"] == "broken connection"


async def test_an_address_that_is_none_is_told_at_once() -> None:
    """Ports and blanks are the spec's to refuse; this name passes there and is still no host's."""
    backbone = OpenAIClient(OpenAIBackbone(model="m", base_url="http://a..b/v1"), ENVIRON)
    with pytest.raises(BackboneTerminal, match="set base_url"):
        await backbone.complete(REQUEST)
    await backbone.close()


async def test_a_missing_certificate_file_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/missing/authority.pem")
    async with LoopbackServer() as server:
        backbone = client(server)
        with pytest.raises(BackboneTerminal, match=r"no such file.*SSL_CERT_FILE"):
            await backbone.complete(REQUEST)


async def test_a_server_without_tls_is_told_at_once() -> None:
    async with LoopbackServer() as server:
        backbone = client(server, base_url=server.base_url.replace("http:", "https:"))
        with pytest.raises(BackboneTerminal, match="check base_url"):
            await backbone.complete(REQUEST)
        await backbone.close()


async def test_cancelling_gives_the_connection_back() -> None:
    async with LoopbackServer(Script(Hang(), "fine")) as server:
        backbone = client(server, max_connections=1)
        hanging = asyncio.create_task(backbone.complete(REQUEST))
        while not server.received:
            await asyncio.sleep(0.01)
        hanging.cancel()
        reply = await asyncio.wait_for(backbone.complete(REQUEST), 5)
        await backbone.close()
    assert reply.text == "fine"


# --- structured output


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


# --- the key


@pytest.mark.parametrize(
    "fault",
    [
        Status(400, f"bad key {KEY}"),
        Status(401, f"Incorrect API key provided: {KEY}", code=KEY),
        Status(500, f"crashed with Bearer {KEY}"),
        Raw(f"<html>{KEY}</html>"),
        Raw(json.dumps({"choices": [], KEY: KEY})),
        Reset(),
    ],
    ids=lambda fault: type(fault).__name__ + str(getattr(fault, "status", "")),
)
async def test_the_key_is_in_no_error(fault: Answer, caplog: pytest.LogCaptureFixture) -> None:
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server, max_attempts=2)
        with caplog.at_level(logging.DEBUG), pytest.raises(BackboneError) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    error = caught.value
    ours = error.__traceback__ and error.__traceback__.tb_next  # this test's own frame holds the key
    traced = traceback.TracebackException(type(error), error, ours, capture_locals=True)
    assert "complete" in traced.stack[0].name
    everything = [
        str(error),
        repr(error),
        repr(error.details),
        "".join(traced.format()),
        repr(backbone),
        caplog.text,
        pickle.dumps(error).decode("latin-1"),
    ]
    assert error.__cause__ is None and error.__context__ is None
    assert not [text for text in everything if KEY in text]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.details) == (type(error), str(error), error.details)


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "  "}, {"OPENAI_API_KEY": "two keys"}])
async def test_a_missing_key_is_told_at_once(environ: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="OPENAI_API_KEY") as caught:
        OpenAIClient(OpenAIBackbone(model="m"), environ)
    assert "two keys" not in str(caught.value)


async def test_a_key_with_a_line_end_is_taken_without_it() -> None:
    async with LoopbackServer(key=KEY) as server:
        spec = OpenAIBackbone(model="m", base_url=server.base_url)
        backbone = OpenAIClient(spec, {"OPENAI_API_KEY": f"{KEY}\n"})
        assert (await backbone.complete(REQUEST)).text == "ok"
        await backbone.close()


async def test_servers_without_keys_get_none() -> None:
    async with LoopbackServer() as server:
        backbone = OpenAIClient(OpenAIBackbone(model="m", base_url=server.base_url, api_key_env=""), {})
        await backbone.complete(REQUEST)
        await backbone.close()
        assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize("needs_key", [True, False])
async def test_the_environment_adds_nothing(
    needs_key: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "foreign")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer foreign\nX-Team: foreign")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://foreign.invalid/v1")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login foreign password foreign\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with LoopbackServer() as server:
        spec = OpenAIBackbone(
            model="m", base_url=server.base_url, api_key_env="OPENAI_API_KEY" if needs_key else ""
        )
        backbone = OpenAIClient(spec, ENVIRON)
        await backbone.complete(REQUEST)
        await backbone.close()
    headers = server.received[0].headers
    assert headers.get("authorization") == (f"Bearer {KEY}" if needs_key else None)
    assert "foreign" not in str(headers) and "x-team" not in headers


async def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        behind = OpenAIClient(OpenAIBackbone(model="m", base_url="http://far.invalid/v1"), ENVIRON)
        direct = client(proxy)
        await behind.complete(REQUEST)
        await direct.complete(REQUEST)
        await behind.close()
        await direct.close()
    assert [seen.headers["host"].partition(":")[0] for seen in proxy.received] == ["far.invalid", "127.0.0.1"]


async def test_a_redirect_does_not_take_the_key_along() -> None:
    async with (
        LoopbackServer() as other,
        LoopbackServer(
            Script(Status(307, headers={"Location": f"{other.base_url}/chat/completions"}))
        ) as server,
    ):
        backbone = client(server)
        with pytest.raises(BackboneTerminal, match="base_url"):
            await backbone.complete(REQUEST)
        await backbone.close()
        assert other.received == []


# --- a backbone behind HTTP


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
