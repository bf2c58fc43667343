"""Requests and tokens per minute, kept in this process.

The limits hold for every window of 60 seconds, not for the average: a burst is allowed at the start
and never adds up to more than the limit. Callers get their turn in the order in which they came.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ocm.types import Request

WINDOW = 60.0
"""Seconds over which a limit holds."""

LONGEST_NAP = 1.0
"""Seconds until the first in the queue looks again, since a corrected estimate may let it go earlier."""

CHARACTERS_PER_TOKEN = 4


def estimated_tokens(request: Request, max_tokens: int | None) -> int:
    """Tokens that a request may take: a quarter of its characters, and the longest reply allowed."""
    characters = sum(len(message.content) for message in request.messages)
    return characters // CHARACTERS_PER_TOKEN + (max_tokens or 0)


@dataclass(slots=True)
class Entry:
    """One admitted request; ``tokens`` is an estimate until it is settled."""

    at: float
    tokens: int


class SlidingWindow:
    """What was admitted in the last minute. Times are seconds of any steady clock."""

    def __init__(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._entries: deque[Entry] = deque()
        self._sum = 0

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until a request of so many tokens may go; 0 if it may go now.

        A request larger than the whole limit goes when the window is empty, or it would never go.
        """
        self._forget(now)
        freed_at = max(self._request_free_at(), self._tokens_free_at(tokens))
        return max(0.0, freed_at - now)

    def enter(self, now: float, tokens: int) -> Entry:
        """Admit a request."""
        entry = Entry(now, tokens)
        self._entries.append(entry)
        self._sum += tokens
        return entry

    def settle(self, entry: Entry, tokens: int) -> None:
        """Replace an entry's estimate by what it really took."""
        if self._entries and entry.at >= self._entries[0].at:
            self._sum += tokens - entry.tokens
        entry.tokens = tokens

    def _forget(self, now: float) -> None:
        while self._entries and self._entries[0].at + WINDOW <= now:
            self._sum -= self._entries.popleft().tokens

    def _request_free_at(self) -> float:
        if self._requests is None or len(self._entries) < self._requests:
            return -math.inf
        return self._entries[len(self._entries) - self._requests].at + WINDOW

    def _tokens_free_at(self, tokens: int) -> float:
        free_at, left = -math.inf, self._sum
        if self._tokens is None:
            return free_at
        for entry in self._entries:
            if left + tokens <= self._tokens:
                break
            left -= entry.tokens
            free_at = entry.at + WINDOW
        return free_at


class RateLimiter:
    """Holds requests back until both limits allow them; None is no limit.

    Safe for all coroutines of one event loop. ``sleep`` and ``clock`` are replaced in tests.
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limited = requests_per_minute is not None or tokens_per_minute is not None
        self._window = SlidingWindow(requests_per_minute, tokens_per_minute)
        self._queue = asyncio.Lock()
        self._sleep = sleep
        self._clock = clock

    async def acquire(self, tokens: int) -> Entry:
        """Wait for the turn of a request of about so many tokens; settle the entry afterwards."""
        if not self._limited:
            return Entry(0.0, tokens)
        async with self._queue:
            while (seconds := self._window.wait(self._clock(), tokens)) > 0:
                await self._sleep(min(seconds, LONGEST_NAP))
            return self._window.enter(self._clock(), tokens)

    def settle(self, entry: Entry, tokens: int) -> None:
        """Tell what a request really took."""
        if self._limited:
            self._window.settle(entry, tokens)
