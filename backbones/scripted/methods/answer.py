"""A kind of request of some method, and what the stand-in answers to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ocm.types import Request


@dataclass(frozen=True)
class Answer:
    """Both are pure functions of the request, which has at least two messages."""

    asked: Callable[[Request], bool]
    """Whether a request is of this kind, from its text."""
    reply: Callable[[Request, float], str]
    """The reply to it, with the share of mistakes on purpose; empty where the rules know no answer."""


def opens(opening: str) -> Callable[[Request], bool]:
    """Whether the system prompt begins so."""

    def asked(request: Request) -> bool:
        return request.messages[0].content.lstrip().startswith(opening)

    return asked
