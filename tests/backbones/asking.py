"""A client of the loopback server, and the requests that its tests send."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from backbones.openai_client import OpenAIClient
from ocm.spec import OpenAIBackbone
from ocm.types import Message, Request
from tests.backbones.loopback import (
    Answer,
    LoopbackServer,
)

KEY = "sk-test-0123456789abcdef"
ENVIRON = {"OPENAI_API_KEY": KEY}
SCHEMA = {"type": "object", "properties": {"plan": {"type": "string"}}}
REQUEST = Request("act", (Message("system", "rules"), Message("user", "go")), None, "chain", 3, 7)
STRUCTURED = Request("reflect", REQUEST.messages, SCHEMA, "chain", 3, 8)


class Sleeps(list[float]):
    """Records pauses instead of taking them; its clock goes on as if they had been taken."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)

    def clock(self) -> float:
        return time.monotonic() + sum(self)


class Hasty:
    """Time that goes faster by a factor, for several requests at once."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.factor)

    def clock(self) -> float:
        return time.monotonic() * self.factor


class Script:
    """Answers in this order; the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def __call__(self, request: dict[str, Any]) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def client(server: LoopbackServer, sleeps: Sleeps | None = None, **settings: Any) -> OpenAIClient:
    spec = OpenAIBackbone(**{"model": "gpt-4.1-mini", "base_url": server.base_url, **settings})
    sleeps = Sleeps() if sleeps is None else sleeps
    return OpenAIClient(spec, ENVIRON, sleep=sleeps, clock=sleeps.clock)
