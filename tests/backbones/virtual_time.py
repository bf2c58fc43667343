"""An event loop whose time moves only when all of its coroutines wait, and then at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` begins at 1000 and leaps to the next timer; nothing may be read from the outside."""

    def __init__(self) -> None:
        self._now = 1000.0
        super().__init__()

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers = [timer.when() for timer in self._scheduled if not timer.cancelled()]
        if not self._ready and timers:
            self._now = max(self._now, min(timers))
        super()._run_once()


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The running loop's time."""
    return asyncio.get_running_loop().time()
