"""One question with one correction: for replies that must have a form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from agents.parsing import UnreadableReply, strip_thinking
from agents.prompts import SHARED, fill
from agents.protocol import Bench
from ocm.types import Message, Reply

T = TypeVar("T")


async def ask(
    bench: Bench,
    purpose: str,
    messages: Sequence[Message],
    read: Callable[[Reply], T],
    schema: Mapping[str, Any] | None = None,
    temperature: float | None = None,
) -> tuple[T, str]:
    """Ask, read, and on an unreadable reply ask once more with a short corrective message.

    Returns:
        What was read, and the reply that it was read from, without thinking.

    Raises:
        UnreadableReply: the second reply is unreadable too.
    """
    reply = await bench.complete(purpose, messages, schema, temperature)
    try:
        return read(reply), strip_thinking(reply.text)
    except UnreadableReply as problem:
        correction = Message("user", fill(SHARED, "reply_correction", reason=str(problem)))
        said = Message("assistant", strip_thinking(reply.text) or "(no answer)")
        second = await bench.complete(
            f"{purpose}_correction", (*messages, said, correction), schema, temperature
        )
        return read(second), strip_thinking(second.text)
