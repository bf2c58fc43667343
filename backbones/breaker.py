"""A backbone that is down: noticed, waited for, told, and given up after a while.

:class:`Circuit` is the state machine, without waiting; :class:`Breaker` lets coroutines wait for it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from backbones.failures import Failure, Kind, one_line

FAILURES_IN_A_ROW = 10
"""So many failed tries of all chains, with no reply between, open the circuit."""
FIRST_INTERVAL = 5.0
LONGEST_INTERVAL = 120.0
"""Seconds between two probes while it is open; doubled with each that fails."""

COUNTED = frozenset({Kind.UNREACHABLE, Kind.TIMEOUT, Kind.BROKEN, Kind.SERVER, Kind.RATE})
"""What a server that is down, or overrun, does. A malformed reply is also an answer."""


class Step(Enum):
    """What a request may do now."""

    SEND = auto()
    PROBE = auto()
    WAIT = auto()
    GIVE_UP = auto()


class Circuit:
    """Closed: all send. Open: one at a time probes, at growing intervals; after ``patience`` seconds who
    waits is to give up, and who comes later too, unless a probe is due. A reply closes it.

    ``now`` is in seconds of any steady clock.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._interval = FIRST_INTERVAL
        self._next_probe = -math.inf
        self._opened_at: float | None = None
        self._probing = False
        self.failures = 0
        """Failed tries since the last reply."""
        self.since = 0.0
        """When the first of them failed."""
        self.last: Failure | None = None
        """Why it is open: what failed last."""
        self.spent: Failure | None = None
        """Why nothing will be sent any more: the quota is spent."""

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    def step(self, now: float, *, is_first: bool = True) -> Step:
        """What one of those who wait may do; only the first may probe, and has begun to by this."""
        if self.spent is not None:
            return Step.GIVE_UP
        if self._opened_at is None:
            return Step.SEND
        if is_first and not self._probing and now >= self._next_probe:
            self._probing = True
            return Step.PROBE
        return Step.GIVE_UP if now >= self._opened_at + self._patience else Step.WAIT

    def wait(self, now: float, *, is_first: bool = True) -> float:
        """Seconds until another step is possible, if nothing happens before."""
        if self._opened_at is None:
            return 0.0
        end = self._opened_at + self._patience
        return max(0.0, min(end, self._next_probe if is_first and not self._probing else end) - now)

    def next_probe(self, now: float) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._next_probe - now)

    def replied(self) -> bool:
        """The server has answered; whether that closes the circuit."""
        was_open = self.is_open
        self._opened_at, self._interval, self.failures = None, FIRST_INTERVAL, 0
        return was_open

    def failed(self, failure: Failure, now: float) -> bool:
        """A try has failed; whether that opens the circuit."""
        if failure.kind is Kind.QUOTA:
            self.spent = failure
        if failure.kind not in COUNTED:
            return False
        self.since = self.since if self.failures else now
        self.failures += 1
        self.last = failure
        return self.failures >= FAILURES_IN_A_ROW and self.open(now)

    def open(self, now: float) -> bool:
        """Let nobody send; whether this is new."""
        if self.is_open:
            return False
        self._opened_at, self._next_probe = now, now + self._interval
        return True

    def probe_failed(self, failure: Failure, now: float) -> None:
        """A probe found it still down."""
        self.last = failure
        self._interval = min(self._interval * 2, LONGEST_INTERVAL)
        self._next_probe = now + self._interval

    def probe_ended(self) -> None:
        """Whatever became of the probe, another may begin when it is due."""
        self._probing = False


class Breaker:
    """One backbone's circuit, for all coroutines of one event loop.

    ``patience`` in seconds. ``tell`` is given lines for the person at the terminal. ``sleep`` and ``clock``
    are replaced in tests.
    """

    def __init__(
        self,
        name: str,
        patience: float,
        tell: Callable[[str], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.circuit = Circuit(patience)
        self._name = name
        self._tell = tell
        self._sleep = sleep
        self._clock = clock
        self._queue: deque[object] = deque()
        self._change = asyncio.Event()
        self._told_the_end = False
        self.replies = 0

    @property
    def holds_back(self) -> bool:
        """Whether requests may not be sent, probes apart."""
        return self.circuit.is_open or self.circuit.spent is not None

    @property
    def failures(self) -> int:
        """Failed tries since the last reply."""
        return self.circuit.failures

    async def turn(self) -> Step:
        """Wait while the server is down: SEND, PROBE (tell its end with :meth:`probed`) or GIVE_UP."""
        if not self.holds_back:
            return Step.SEND
        place = object()
        self._queue.append(place)
        try:
            while (step := self._step(place)) is Step.WAIT:
                await self._until_change(self.circuit.wait(self._clock(), is_first=self._queue[0] is place))
        finally:
            self._queue.remove(place)
            self._notify()
        if step is Step.GIVE_UP:
            self._tell_the_end()
        return step

    def answered(self) -> None:
        """Tell that the server has answered a request."""
        since = self.circuit.since
        self.replies += 1
        if self.circuit.replied():
            self._told_the_end = False
            self._tell(f"{self._name} answers again, after {_span(self._clock() - since)}")
            self._notify()

    def failed(self, failure: Failure) -> None:
        """Tell that a try has failed."""
        if self.circuit.failed(failure, self._clock()):
            self._tell_down()
        if self.circuit.spent is not None:
            self._tell_the_end()
            self._notify()

    def open(self) -> None:
        """Tell that a request has used up its tries, and nothing speaks for the server."""
        if self.circuit.open(self._clock()):
            self._tell_down()

    def probed(self, failure: Failure | None) -> None:
        """Tell the end of a probe: why the server is still down, or None."""
        self.circuit.probe_ended()
        if failure is not None and self.circuit.is_open:
            self.circuit.probe_failed(failure, self._clock())
            self._tell_down()
        self._notify()

    def since(self) -> str:
        """The time of day of the first failure."""
        began = time.time() - (self._clock() - self.circuit.since)
        return time.strftime("%H:%M", time.localtime(began))

    def _step(self, place: object) -> Step:
        return self.circuit.step(self._clock(), is_first=self._queue[0] is place)

    def _notify(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()

    async def _until_change(self, seconds: float) -> None:
        change = asyncio.ensure_future(self._change.wait())
        nap = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait({change, nap}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()
            nap.cancel()

    def _tell_down(self) -> None:
        waiting = len(self._queue) + 1  # and the one whose failure this is
        requests = "1 request waits" if waiting == 1 else f"{waiting} requests wait"
        seconds = self.circuit.next_probe(self._clock())
        self._tell(f"{self._down()}: {requests}, next try in {seconds:.0f} s")

    def _tell_the_end(self) -> None:
        if not self._told_the_end:
            self._told_the_end = True
            spent = self.circuit.spent
            why = self._down() if spent is None else f"{self._name}: the quota is spent ({_reason(spent)})"
            self._tell(f"{why}: its chains pause, and the same command goes on")

    def _down(self) -> str:
        return f"{self._name} is down since {self.since()} ({_reason(self.circuit.last)})"


def _reason(failure: Failure | None) -> str:
    if failure is None:
        return "no reply"
    status = "" if failure.status is None else f"{failure.status} "
    return one_line(f"{status}{failure.reason}", 120)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
