"""The Backbone protocol: one question, one reply."""

from __future__ import annotations

from typing import Protocol

from ocm.types import Reply, Request


class Backbone(Protocol):
    """A chat model. Safe to share between the chains of one event loop."""

    label: str
    model: str

    async def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            BackboneTransient: all tries that the spec allows failed.
            BackboneTerminal: no other try can succeed.
            BackboneDown: the server was down for longer than the spec waits, or the quota is spent.
        """
        ...

    async def close(self) -> None:
        """Close connections. May be called twice."""
        ...
