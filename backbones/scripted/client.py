"""The client: recognises from the text what is asked, and answers it."""

from __future__ import annotations

import asyncio

from backbones.scripted.methods import ANSWERS
from backbones.scripted.otherwise import answer
from ocm.spec import ScriptedBackbone
from ocm.types import Reply, Request, Usage

MODEL = "scripted-rules-1"
CHARS_PER_TOKEN = 4


class ScriptedBackboneClient:
    """A rule-based stand-in for a chat model (:class:`backbones.protocol.Backbone`). Stateless.

    The same request always gets the same reply. It never fails and costs nothing; token counts are
    estimated as characters / 4.
    """

    def __init__(self, spec: ScriptedBackbone) -> None:
        self.label = spec.name
        self.model = MODEL
        self._spec = spec

    async def complete(self, request: Request) -> Reply:
        """Answer one request after ``spec.latency`` seconds."""
        if self._spec.latency > 0:
            await asyncio.sleep(self._spec.latency)
        text = reply_to(request, self._spec.error_rate)
        prompt = sum(len(message.content) for message in request.messages)
        usage = Usage(prompt=prompt // CHARS_PER_TOKEN, completion=max(1, len(text) // CHARS_PER_TOKEN))
        return Reply(text, "stop", usage, 0.0, self._spec.latency, MODEL, fingerprint=MODEL)

    async def close(self) -> None:
        """Nothing to close."""


def reply_to(request: Request, error_rate: float) -> str:
    """The text of the reply: a pure function of the request."""
    known = (one for one in ANSWERS if len(request.messages) > 1 and one.asked(request))
    found = next(known, None)
    return (found and found.reply(request, error_rate)) or answer(request)
