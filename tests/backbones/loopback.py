"""An OpenAI-compatible server on the loopback interface, for tests, benchmarks and rehearsals.

A *script* turns a request's JSON into an answer: a text, or one of the answers below, most of which
are faults. A script may be a coroutine function. Three ways to run it::

    async with LoopbackServer(script) as server: ...   # in this event loop
    with serve_in_thread(script) as server: ...        # for code that has no loop
    with serve_in_process(...) as base_url: ...        # so that it costs the client no CPU

``python -m tests.backbones.loopback --help`` serves until its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import random
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from backbones.protocol import Backbone
from ocm.types import Message, Request, Usage

PATIENCE = 30.0
"""Seconds to wait for a server in a thread or process to start or to end."""


USAGE = Usage(prompt=100, completion=20)


@dataclass(frozen=True, slots=True)
class Text:
    """A chat completion. ``usage`` None leaves the field out."""

    text: str | None
    finish_reason: str = "stop"
    usage: Usage | None = USAGE
    model: str | None = None
    """By default the model that was asked for."""
    fingerprint: str | None = "fp_loopback"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message, such as ``reasoning_content``."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An error as OpenAI words it."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Any body: invalid JSON, no choices, a proxy's HTML page."""

    body: str
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer for so many seconds."""

    seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection breaks: before the headers, or in the middle of the body."""

    in_body: bool = True


@dataclass(frozen=True, slots=True)
class Trickle:
    """A reply that never ends: a blank at a time, as some servers keep a connection alive."""

    pause: float = 0.05


NO_CHOICES = Raw('{"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": []}')

Answer = str | Text | Status | Raw | Hang | Reset | Trickle
Script = Callable[[dict[str, Any]], Answer | Awaitable[Answer]]
Latency = Callable[[dict[str, Any]], float]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class LoopbackServer:
    """The server; see the module's text. It listens between ``async with`` and its end.

    ``key``: 401 without it. ``refuses``: kinds of ``response_format`` that get a 400. ``fields``: names
    of request fields that get a 400. ``models``: whether ``GET /v1/models`` exists. ``latency``:
    seconds before each chat completion. ``received``: all chat requests so far.
    """

    def __init__(
        self,
        script: Script = lambda request: "ok",
        *,
        key: str | None = None,
        refuses: frozenset[str] = frozenset(),
        fields: frozenset[str] = frozenset(),
        models: bool = True,
        latency: Latency = lambda request: 0.0,
        record: bool = True,
    ) -> None:
        self.script = script
        self.key = key
        self.refuses = refuses
        self.fields = fields
        self.models = models
        self.latency = latency
        self.record = record
        self.received: list[Received] = []
        self.base_url = ""
        self.at_once = 0
        self.most_at_once = 0
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        if self.models:
            app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if (refusal := self._wrong_key(request)) is not None:
            return _status(refusal)
        return web.json_response({"object": "list", "data": [{"id": "loopback", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.record:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.received.append(Received(request.path, headers, body))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._send(request, body, await self._answer(request, body))
        finally:
            self.at_once -= 1

    async def _answer(self, request: web.Request, body: dict[str, Any]) -> Answer:
        refusal = self._wrong_key(request) or self._refused_field(body)
        if refusal is not None:
            return refusal
        if (seconds := self.latency(body)) > 0:
            await asyncio.sleep(seconds)
        answer = self.script(body)
        return await answer if inspect.isawaitable(answer) else answer

    def _wrong_key(self, request: web.Request) -> Status | None:
        if self.key is None or request.headers.get("Authorization") == f"Bearer {self.key}":
            return None
        sent = request.headers.get("Authorization", "nothing")
        return Status(401, f"Incorrect API key provided: {sent}", "invalid_api_key")

    def _refused_field(self, body: dict[str, Any]) -> Status | None:
        kind = body.get("response_format", {}).get("type")
        if kind in self.refuses:
            return Status(400, f"Invalid parameter: 'response_format' of type '{kind}' is not supported")
        names = sorted(self.fields & body.keys())
        return Status(400, f"Unsupported parameter: {names[0]!r}") if names else None

    async def _send(self, request: web.Request, body: dict[str, Any], answer: Answer) -> web.StreamResponse:
        match answer:
            case str():
                return _json(completion(Text(answer), body))
            case Text():
                return _json(completion(answer, body), headers=answer.headers)
            case Status():
                return _status(answer)
            case Raw():
                return web.Response(text=answer.body, status=answer.status, content_type=answer.content_type)
            case Hang():
                await asyncio.sleep(answer.seconds)
                return _status(Status(504, "woke up"))
            case Reset():
                return await _reset(request, answer)
            case Trickle():
                return await _trickle(request, answer)


def completion(answer: Text, request: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a chat completion."""
    message = {"role": "assistant", "content": answer.text, **answer.extra}
    reply: dict[str, Any] = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": answer.model or request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
    }
    if answer.fingerprint is not None:
        reply["system_fingerprint"] = answer.fingerprint
    if answer.usage is not None:
        reply["usage"] = _usage(answer.usage)
    return reply


def answering(backbone: Backbone) -> Script:
    """A script that lets a backbone answer, such as the scripted one.

    What HTTP does not carry is unknown to it: the purpose is empty, and the request's ``seed`` stands
    in for the chain.
    """

    async def script(request: dict[str, Any]) -> Answer:
        reply = await backbone.complete(_as_request(request))
        return Text(reply.text, reply.finish_reason, reply.usage)

    return script


def uniform_latency(low: float, high: float) -> Latency:
    """Seconds drawn by the request's own ``seed``, so that a client can compute them too."""
    return lambda request: random.Random(request.get("seed", 0)).uniform(low, high)


@contextmanager
def serve_in_thread(script: Script = lambda request: "ok", **options: Any) -> Iterator[LoopbackServer]:
    """A :class:`LoopbackServer` in a thread of its own."""
    server = LoopbackServer(script, **options)
    started = threading.Event()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    if not started.wait(PATIENCE):
        raise TimeoutError("the loopback server did not start")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(PATIENCE)
        loop.close()


@contextmanager
def serve_in_process(low: float = 0.0, high: float = 0.0, text: str = "ok") -> Iterator[str]:
    """A server in another process that always says ``text``; yields its base URL."""
    command = [sys.executable, "-m", __name__, f"--low={low}", f"--high={high}", f"--text={text}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(PATIENCE)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    body = json.dumps(value).encode()
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


def _status(answer: Status) -> web.Response:
    error = {"message": answer.message, "type": "loopback", "param": None, "code": answer.code}
    return _json({"error": error}, answer.status, answer.headers)


async def _reset(request: web.Request, answer: Reset) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "9999"})
    if answer.in_body:
        await response.prepare(request)
        await response.write(b'{"id": "chatcmpl-')
    if request.transport is not None:
        request.transport.abort()
    return response


async def _trickle(request: web.Request, answer: Trickle) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(answer.pause)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _as_request(body: Mapping[str, Any]) -> Request:
    messages = tuple(Message(entry["role"], entry["content"]) for entry in body["messages"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return Request(purpose="", messages=messages, schema=schema, chain=str(body.get("seed", "")))


async def _serve_until_stdin_ends(server: LoopbackServer) -> None:
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Serve one text with a latency until standard input ends; print the base URL first."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--low", type=float, default=0.0, help="least latency in seconds")
    parser.add_argument("--high", type=float, default=0.0, help="greatest latency in seconds")
    parser.add_argument("--text", default="ok", help="what every reply says")
    options = parser.parse_args()
    latency = uniform_latency(options.low, options.high)
    asyncio.run(
        _serve_until_stdin_ends(LoopbackServer(lambda _: options.text, latency=latency, record=False))
    )


if __name__ == "__main__":
    main()
