"""``python -m tests.faults.jumping_clock SEED ARGUMENTS…``: ``ocm`` with a wall clock that jumps.

Every few calls ``time.time`` and ``time.time_ns`` of this process go hours forwards or backwards, as when
somebody sets the clock or a virtual machine wakes up. The monotonic clock and other processes keep time.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Sequence

LONGEST_JUMP = 6 * 3600.0
SECONDS_BETWEEN = 0.7


class JumpingClock:
    """A wall clock that is set anew, by a seeded draw, each time that some seconds have passed."""

    def __init__(self, seed: int, true: Callable[[], float], steady: Callable[[], float]) -> None:
        self._draws = random.Random(seed)
        self._true = true
        self._steady = steady
        self._lock = threading.Lock()
        self._ahead = 0.0
        self._next = steady() + SECONDS_BETWEEN
        self.jumps = 0

    def time(self) -> float:
        """Seconds since some epoch or other."""
        with self._lock:
            if self._steady() >= self._next:
                self._ahead = self._draws.uniform(-LONGEST_JUMP, LONGEST_JUMP)
                self._next = self._steady() + SECONDS_BETWEEN
                self.jumps += 1
            return self._true() + self._ahead

    def time_ns(self) -> int:
        """The same in nanoseconds."""
        return int(self.time() * 1e9)


def main(seed: int, arguments: Sequence[str]) -> None:
    """Set the clock loose and run the command."""
    clock = JumpingClock(seed, time.time, time.monotonic)
    time.time = clock.time
    time.time_ns = clock.time_ns
    from flows.cli import main as ocm

    sys.argv = ["ocm", *arguments]
    try:
        ocm()
    finally:
        sys.stderr.write(f"the clock was set {clock.jumps} times\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
