"""The fault server: an OpenAI-compatible server in a process of its own, which logs every request.

It outlives the drivers that ask it, so it knows what was asked twice. ``system_fingerprint`` carries the
request's content and the number of its delivery; a reply that is found on disk thus names its request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from aiohttp import web

from backbones.scripted import ScriptedBackboneClient
from ocm.spec import ScriptedBackbone
from tests.backbones.loopback import (
    NO_CHOICES,
    PATIENCE,
    Answer,
    LoopbackServer,
    Raw,
    Reset,
    Status,
    Text,
    answering,
    uniform_latency,
)
from tests.faults.answers import Chances, Transport, content_of, oddity, spoiled

SLOW_SECONDS = 1.5
"""Of a slow first byte: far below the client's time-out."""
RETRY_AFTER = "0.3"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and what became of it. Times are seconds since the epoch."""

    content: str
    tries: int
    """Of the same content before this one."""
    fault: str
    """The transport fault that it met; empty for none."""
    odd: str
    """What is odd about its answer."""
    whole: bool
    """Whether a reply was sent to its end, with the client still there."""
    came: float
    ended: float


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A running fault server."""

    url: str
    log: Path

    def asked(self) -> list[Asked]:
        """All requests that have ended so far, in the order in which they did."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [Asked(**json.loads(line)) for line in lines]


@contextmanager
def model_server(
    log: Path, chances: Chances | None = None, latency: tuple[float, float] = (0.0, 0.0)
) -> Iterator[ModelServer]:
    """A fault server until the end of the block; ``latency``: least and most seconds before an answer."""
    chances = chances or Chances()
    command = [sys.executable, "-m", __name__, str(log), str(latency[0]), str(latency[1])]
    command += [str(chances.seed), str(chances.first_try), str(chances.later_tries)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "the fault server did not start"
            yield ModelServer(url, log)
        finally:
            process.stdin.close()
            process.wait(PATIENCE)


class FaultServer(LoopbackServer):
    """The scripted stand-in over HTTP, with faults."""

    def __init__(self, log: Path, chances: Chances, latency: tuple[float, float]) -> None:
        super().__init__(latency=uniform_latency(*latency), record=False)
        self._log = log.open("a", encoding="utf-8")
        self._chances = chances
        self._stand_in = answering(ScriptedBackboneClient(ScriptedBackbone()))
        self._tries: Counter[str] = Counter()
        self._deliveries: Counter[str] = Counter()
        self._kinds = cycle(Transport)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        came = time.time()
        body = await request.json()
        content = content_of(body)
        tries, self._tries[content] = self._tries[content], self._tries[content] + 1
        # The kinds take turns, so that each comes up, however few requests there are.
        fault = next(self._kinds) if self._chances.disturbs(content, tries) else None
        whole, odd = False, oddity(content)
        try:
            await asyncio.sleep(self.latency(body) + SLOW_SECONDS * (fault is Transport.SLOW))
            if fault is Transport.HANG:
                await _client_gone(request)
            answer = _failing(fault) or await self._whole_answer(body, content, odd)
            response = await self._send(request, body, answer)
            with suppress(ConnectionError):  # the client has been killed or does not wait any more
                await response.prepare(request)
                await response.write_eof()
            transport = request.transport
            whole = isinstance(answer, Text) and transport is not None and not transport.is_closing()
            return response
        finally:
            asked = Asked(content, tries, str(fault or ""), odd, whole, came, time.time())
            self._log.write(json.dumps(asdict(asked)) + "\n")
            self._log.flush()

    async def _whole_answer(self, body: dict[str, Any], content: str, odd: str) -> Text:
        answer = await self._stand_in(body)  # type: ignore[misc]
        assert isinstance(answer, Text)
        self._deliveries[content] += 1
        return replace(spoiled(answer, odd), fingerprint=f"{content}.{self._deliveries[content]}")


async def _client_gone(request: web.Request) -> None:
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.1)


def _failing(fault: Transport | None) -> Answer | None:
    """What is sent instead of an answer."""
    match fault:
        case Transport.RATE_LIMIT:
            return Status(429, "slow down", "rate_limit_exceeded", {"Retry-After": RETRY_AFTER})
        case Transport.BARE_RATE_LIMIT:
            return Status(429, "slow down", "rate_limit_exceeded")
        case Transport.SERVER_ERROR:
            return Status(500, "The server had an error")
        case Transport.BAD_GATEWAY:
            return Raw("<html>502 Bad Gateway</html>", 502, "text/html")
        case Transport.HANG:
            return Status(504, "the client waited too long")
        case Transport.RESET:
            return Reset(in_body=True)
        case Transport.NOT_JSON:
            return Raw('{"id": "chatcmpl-1", "choices": [{"mess')
        case Transport.NO_CHOICES:
            return NO_CHOICES
        case _:
            return None


async def _serve(server: FaultServer) -> None:
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Serve until standard input ends; print the base URL first."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("low", type=float)
    parser.add_argument("high", type=float)
    parser.add_argument("seed", type=int)
    parser.add_argument("first_try", type=float)
    parser.add_argument("later_tries", type=float)
    given = parser.parse_args()
    chances = Chances(given.seed, given.first_try, given.later_tries)
    asyncio.run(_serve(FaultServer(given.log, chances, (given.low, given.high))))


if __name__ == "__main__":
    main()
