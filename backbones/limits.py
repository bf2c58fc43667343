"""Requests and tokens per minute of one backbone, shared by all chains of this process and of others.

The limits hold for every window of 60 seconds, not for the average: a burst is allowed at the start
and never adds up to more than the limit. Callers get their turn in the order in which they came, over
all processes that share the window's file (:mod:`backbones.window`).

A limit is set in the spec or named by the server. Until there is one, or a pause was asked for, no file is
touched, and a request costs 5 µs more. With one, admitting and settling together cost 35 µs in memory and
135 µs with a file, or 50 and 240 µs if the answer's headers name limits (medians, with 500 requests in the
window).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from backbones.rate_headers import NO_HINTS, Hints
from backbones.window import WINDOW, Entry, Poll, Ticket, Window
from backbones.window_file import is_busy
from ocm.spec import OpenAIBackbone, backbone_label
from ocm.types import Request

__all__ = ["WINDOW", "Entry", "RateLimiter", "estimated_tokens", "window_path"]

LONGEST_NAP = 1.0
"""Seconds until the queue is looked at again, since a corrected estimate may let the first go earlier."""
SHARED_NAP = 0.1
"""The same where other processes may have let it go."""
OTHERS_TAKE = 5.0
"""Seconds to wait for other processes' transactions, which take less than a millisecond."""
CHARACTERS_PER_TOKEN = 4

T = TypeVar("T")

log = logging.getLogger(__name__)


def estimated_tokens(request: Request, max_tokens: int | None) -> int:
    """Tokens that a request may take: a quarter of its characters, and the longest reply allowed."""
    characters = sum(len(message.content) for message in request.messages)
    return characters // CHARACTERS_PER_TOKEN + (max_tokens or 0)


def window_path(folder: Path, spec: OpenAIBackbone) -> Path:
    """The file in which an account's requests to one model are counted, by whatever sweep."""
    account = "\n".join((spec.base_url, spec.model, spec.api_key_env or ""))
    label = "".join(sign if sign.isalnum() or sign in "-._" else "-" for sign in backbone_label(spec))
    return folder / f"{label[:80]}-{hashlib.sha256(account.encode()).hexdigest()[:12]}.sqlite"


class RateLimiter:
    """Holds requests back until both limits allow them; None is no limit.

    ``path``: the file shared with other processes; None: this process only. If the file cannot be used,
    that is logged once, and this process keeps its limits alone. ``name`` stands in logs.

    Safe for all coroutines of one event loop. ``sleep`` and ``clock`` are replaced in tests; a shared
    clock is the time of day, one of this process alone any steady clock.
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        path: Path | None = None,
        name: str = "the backbone",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._limits = (requests_per_minute, tokens_per_minute)
        self._path = path
        self._name = name
        self._sleep = sleep
        self._clock = clock
        self._window: Window | None = None
        self._one_at_a_time = asyncio.Lock()
        self._waiting: dict[int, Ticket] = {}
        self._turns: dict[int, asyncio.Future[Entry]] = {}
        self._server: asyncio.Task[None] | None = None

    async def acquire(self, tokens: int) -> Entry:
        """Wait for the turn of a request of about so many tokens; tell afterwards what became of it."""
        if not self._is_used():
            return Entry(0, 0.0, tokens)
        async with self._one_at_a_time:
            place = await self._use(lambda window: window.enter(tokens))
            if isinstance(place, Entry):
                return place
            turn = self._queue(place)
        try:
            return await turn
        finally:
            self._leave(place)

    async def withdraw(self, entry: Entry) -> None:
        """Tell that a request was not sent after all."""
        if entry.number:
            async with self._one_at_a_time:
                await self._use(lambda window: window.withdraw(entry))

    async def answered(self, entry: Entry, tokens: int | None, hints: Hints = NO_HINTS) -> None:
        """Tell what a request really took, None if that is not known, and what the server said of limits."""
        if not entry.number and not hints.are_said:
            return
        async with self._one_at_a_time:
            news = await self._use(lambda window: window.answered(entry, tokens, hints))
        if news:
            log.info("%s allows %s", self._name, news)

    async def pause(self, seconds: float) -> None:
        """Hold all requests back for so long, since the server asks for it."""
        async with self._one_at_a_time:
            is_news = await self._use(lambda window: window.pause(seconds))
        if is_news:
            log.warning("%s asks for a pause of %.1f s: all its requests wait", self._name, seconds)

    async def back_off(self, entry: Entry) -> None:
        """Hold all requests back for a while, since the server refused one as too many and said no more."""
        async with self._one_at_a_time:
            seconds = await self._use(lambda window: window.back_off(entry))
        if seconds:
            log.warning("%s refuses more requests: all wait for %.1f s", self._name, seconds)

    async def close(self) -> None:
        """Close the file. May be called twice; the next request would open it again."""
        server, self._server = self._server, None
        if server is not None:
            server.cancel()
            await asyncio.wait({server})
        async with self._one_at_a_time:
            if self._window is not None:
                await self._use(lambda window: window.poll({}))  # nobody is to wait for tickets of ours
                window, self._window = self._window, None
                window.close()

    def _is_used(self) -> bool:
        """Whether there is something to keep to; other processes may have been told of it first."""
        if self._window is not None or self._limits != (None, None):
            return True
        try:
            return self._path is not None and self._path.exists()
        except OSError:
            return False

    def _queue(self, ticket: Ticket) -> asyncio.Future[Entry]:
        turn: asyncio.Future[Entry] = asyncio.get_running_loop().create_future()
        self._waiting[ticket.number] = ticket
        self._turns[ticket.number] = turn
        if self._server is None or self._server.done():
            self._server = asyncio.create_task(self._serve())
        return turn

    def _leave(self, ticket: Ticket) -> None:
        self._waiting.pop(ticket.number, None)
        self._turns.pop(ticket.number, None)

    async def _serve(self) -> None:
        """Let those who wait go, until nobody waits; the last look gives up what nobody wants any more."""
        try:
            while True:
                async with self._one_at_a_time:
                    poll = await self._use(lambda window: window.poll(dict(self._waiting)))
                    self._grant(poll)
                    if not self._waiting:
                        await self._use(lambda window: window.poll({}))
                        return
                nap = LONGEST_NAP if self._path is None else SHARED_NAP
                await self._sleep(min(poll.wait, nap))
        except (sqlite3.Error, OSError) as error:
            for turn in self._turns.values():
                if not turn.done():
                    turn.set_exception(error)

    def _grant(self, poll: Poll) -> None:
        for number, entry in poll.granted.items():
            turn = self._turns.get(number)
            if turn is not None and not turn.done():
                turn.set_result(entry)
            self._waiting.pop(number, None)

    async def _use(self, work: Callable[[Window], T]) -> T:
        """One transaction: here if it needs not wait for other processes, else in a thread."""
        try:
            return await self._tried(work)
        except (sqlite3.Error, OSError) as error:
            if self._path is None:
                raise
            log.warning(
                "%s: %s cannot be used (%s): the limits are kept in this process only; "
                "make its folder writable, or remove the file",
                self._name,
                self._path,
                error,
            )
        if self._window is not None:
            self._window.close()
        self._path = self._window = None
        return await self._tried(work)

    async def _tried(self, work: Callable[[Window], T]) -> T:
        if self._window is None:
            self._window = self._open()
        window = self._window
        try:
            return work(window)
        except sqlite3.Error as error:
            if not is_busy(error):
                raise
        return await _to_its_end(lambda: _patiently(window, work))

    def _open(self) -> Window:
        clock = self._clock or (time.monotonic if self._path is None else time.time)
        window = Window(self._path, *self._limits, clock)
        window.wait_for_others(0)
        return window


def _patiently(window: Window, work: Callable[[Window], T]) -> T:
    window.wait_for_others(OTHERS_TAKE)
    try:
        return work(window)
    finally:
        window.wait_for_others(0)


async def _to_its_end(work: Callable[[], T]) -> T:
    """Work in a thread, which keeps the connection busy to its end even if the caller is cancelled."""
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait({thread})
        raise
