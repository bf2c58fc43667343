"""A model server that quotes the key wherever HTTP lets it: nothing of it comes out of the client."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import pickle
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backbones.openai_client import OpenAIClient
from ocm.errors import BackboneError
from ocm.spec import OpenAIBackbone
from ocm.types import Reply
from tests.backbones.asking import REQUEST, STRUCTURED, Sleeps
from tests.secrets.canary import canary, leaks

pytestmark = pytest.mark.asyncio

Answer = Callable[[str], bytes]
"""What the server sends to a client with this key."""


def http(body: str, status: str = "200 OK", *headers: str, kind: str = "application/json") -> bytes:
    data = body.encode()
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join([*head, "Connection: close", "", ""]).encode() + data


def error(status: str, *headers: str) -> Answer:
    """An error as OpenAI words it, with the key wherever a text stands."""

    def answer(key: str) -> bytes:
        told = {"message": f"no: Authorization: Bearer {key}", "code": key, "type": key, "param": key}
        filled = [one.format(key=key) for one in headers]
        return http(json.dumps({"error": told}), f"{status} {key}", *filled)

    return answer


def chat(**fields: Any) -> Answer:
    """A chat completion with the key in these fields."""

    def answer(key: str) -> bytes:
        text, reason = fields.get("text", "ok"), fields.get("finish_reason", "stop")
        choice = {"message": {"role": "assistant", "content": text.format(key=key)}, "finish_reason": reason}
        rest = {name: value for name, value in fields.items() if name not in ("text", "finish_reason")}
        return http(json.dumps({"choices": [choice], "model": "m", **rest}).replace("{key}", key))

    return answer


HEADERS = (
    "x-request-id: {key}",
    "Retry-After: {key}",
    "x-ratelimit-remaining-requests: {key}",
    "{key}: {key}",
)

FAULTS: dict[str, Answer] = {
    "400": error("400", *HEADERS),
    "401": error("401", *HEADERS, "WWW-Authenticate: Bearer {key}"),
    "402": error("402"),
    "403": error("403"),
    "404": error("404"),
    "408": error("408"),
    "409": error("409"),
    "413": error("413"),
    "422": error("422"),
    "429": error("429", *HEADERS),
    "500": error("500", *HEADERS),
    "503": error("503", "Retry-After: {key}"),
    "redirect": error("307", "Location: http://ann:{key}@127.0.0.1:9/{key}?key={key}"),
    "refused structure": lambda key: http(f'{{"error": "response_format json_schema {key}"}}', f"400 {key}"),
    "html": lambda key: http(f"<html><!--{key}--><title>{key}</title></html>", "502 Bad", kind="text/html"),
    "html with 200": lambda key: http(f"<html>{key}</html>", kind="text/html"),
    "no JSON": lambda key: http(f'{{"choices": [{{"message": "{key}'),
    "no choices": lambda key: http(json.dumps({"choices": [], key: key})),
    "wrong types": lambda key: http(json.dumps({"choices": [{"message": key}], "usage": {key: key}})),
    "escaped": lambda key: http(json.dumps({"error": f"bad {key}"}).replace("-", "\\u002d"), "400 Bad"),
    "base64": lambda key: http(base64.b64encode(f"ann:{key}".encode()).decode(), "401 No"),
    "in part": lambda key: http(f"Incorrect API key provided: {key[:24]}********", "401 No"),
    "cut off": lambda key: http(f'{{"text": "{key}"')[:-4],
    "broken head": lambda key: f"HTTP/1.1 200 OK\r\n{key}\r\n{key}: \0{key}\r\n\r\n".encode(),
    "broken status": lambda key: f"HTTP/{key} {key} {key}\r\n\r\n".encode(),
    "broken chunk": lambda key: f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{key}\r\n".encode(),
    "broken gzip": lambda key: http(key, "200 OK", "Content-Encoding: gzip"),
    "nothing": lambda key: b"",
}

ECHOES: dict[str, Answer] = {
    "text": chat(text="your key is {key}, is it not? Action: noop"),
    "model": chat(model="m-{key}"),
    "fingerprint": chat(system_fingerprint="{key}"),
    "finish_reason": chat(finish_reason="{key}"),
    "usage": chat(usage={"prompt_tokens": 1, "{key}": 1}),
}


@asynccontextmanager
async def serving(answer: bytes, *, listens: bool = True) -> AsyncIterator[int]:
    """A server that sends these bytes to everybody; yields its port. ``listens``: once it was asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n") if listens else b""
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def client(port: int, key: str, scheme: str = "http") -> OpenAIClient:
    spec = OpenAIBackbone(
        model="m", base_url=f"{scheme}://127.0.0.1:{port}/v1", max_attempts=2, patience_minutes=0
    )
    return hasty(spec, key)


def hasty(spec: OpenAIBackbone, key: str) -> OpenAIClient:
    """A client that never waits."""
    sleeps = Sleeps()
    return OpenAIClient(spec, {"OPENAI_API_KEY": key}, sleep=sleeps, clock=sleeps.clock)


async def asked(backbone: OpenAIClient) -> list[Reply | BackboneError]:
    """What comes of everything that can be asked."""
    outcomes: list[Reply | BackboneError] = []
    for ask in (
        backbone.preflight,
        lambda: backbone.complete(REQUEST),
        lambda: backbone.complete(STRUCTURED),
    ):
        try:
            outcomes.append(await ask())  # type: ignore[arg-type]
        except BackboneError as error:
            outcomes.append(error)
    await backbone.close()
    return outcomes


def everything_said(outcome: Reply | BackboneError | None) -> bytes:
    """All that anybody could print or keep of an outcome: also with the variables of each frame."""
    said = [repr(outcome).encode(), pickle.dumps(outcome)]
    if isinstance(outcome, BackboneError):
        ours = outcome.__traceback__ and outcome.__traceback__.tb_next  # this module's frame holds the key
        traced = traceback.TracebackException(type(outcome), outcome, ours, capture_locals=True)
        said += [str(outcome).encode(), repr(outcome.details).encode(), "".join(traced.format()).encode()]
    return b"\n".join(said)


@pytest.fixture(autouse=True)
def _all_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "openai._base_client", "httpx2", "aiohttp", "asyncio", "backbones"):
        caplog.set_level(logging.DEBUG, logger=name)


def no_trace(key: str, outcomes: list[Reply | BackboneError], caplog: pytest.LogCaptureFixture) -> None:
    for outcome in outcomes:
        said = everything_said(outcome)
        assert not leaks([key], said), said
    assert not leaks([key], caplog.text), caplog.text


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_no_fault_tells_the_key(fault: Answer, caplog: pytest.LogCaptureFixture) -> None:
    key = canary()
    async with serving(fault(key)) as port:
        outcomes = await asked(client(port, key))
    assert [one for one in outcomes if isinstance(one, BackboneError)]
    no_trace(key, outcomes, caplog)


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
async def test_no_reply_has_the_key(echo: Answer, caplog: pytest.LogCaptureFixture) -> None:
    """A model that says it, since its server put it into the prompt: the same reply each time, without it."""
    key = canary()
    async with serving(echo(key)) as port:
        outcomes = await asked(client(port, key))
    assert [type(one) for one in outcomes[1:]] == [Reply, Reply]
    no_trace(key, outcomes, caplog)
    if echo is ECHOES["text"]:
        assert {one.text for one in outcomes[1:]} == {"your key is [key], is it not? Action: noop"}  # type: ignore[union-attr]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_no_connection_tells_the_key(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    key = canary()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        outcomes = await asked(client(closed.getsockname()[1], key, scheme))
    no_trace(key, outcomes, caplog)


async def test_no_certificate_tells_the_key(caplog: pytest.LogCaptureFixture) -> None:
    """A server that speaks no TLS."""
    key = canary()
    async with serving(FAULTS["401"](key), listens=False) as port:
        outcomes = await asked(client(port, key, "https"))
    assert all(isinstance(one, BackboneError) for one in outcomes)
    no_trace(key, outcomes, caplog)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("answers", [True, False])
async def test_no_proxy_tells_its_password(
    scheme: str, answers: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, password = canary(), canary().replace("/+", "")
    refusal = http(
        f"proxy for ann:{password} {key}", f"407 ann:{password}", f"Proxy-Authenticate: {password}"
    )
    async with serving(refusal) as port:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://ann:{password}@127.0.0.1:{port if answers else 9}")
        monkeypatch.setenv("no_proxy", "")
        spec = OpenAIBackbone(
            model="m", base_url=f"{scheme}://far.invalid/v1", max_attempts=1, patience_minutes=0
        )
        backbone = hasty(spec, key)
        outcomes = await asked(backbone)
    assert any(isinstance(one, BackboneError) for one in outcomes)
    no_trace(key, outcomes, caplog)
    no_trace(password, outcomes, caplog)


async def test_the_tests_above_can_fail() -> None:
    """The same outcomes, with a key that nobody takes out."""
    key = canary()
    async with serving(FAULTS["400"](key)) as port:
        outcomes = await asked(client(port, "sk-another-key-0123456789"))
    assert leaks([key], everything_said(outcomes[1]))
