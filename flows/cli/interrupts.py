"""Ctrl-C, SIGTERM and SIGHUP for ``ocm run``: the first ends at a safe point, the second at once.

What they do depends on how far the run is. They are ours from the start of the services to the end of the
process, so that none of them meets Python's default in between and leaves a traceback.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import click

from flows.runtime import Runtime
from flows.stopping import stop, take_signals

ECHO_SECONDS = 0.25
"""A signal that follows another so soon is the same request: a wrapper forwards what the terminal has sent
already, and a shell repeats a hang-up."""
AT_ONCE = 130
"""Exit code of a run that was ended at once."""


class Interrupts:
    """One command's requests to end. ``again``: how to go on, as a person is told."""

    def __init__(self, again: str) -> None:
        self._again = again
        self._heard = 0
        self._last = -ECHO_SECONDS
        self._act: Callable[[signal.Signals], None] = self._end_start

    def install(self) -> None:
        """Take the signals, in the main thread; once more after a library has taken one of them."""
        take_signals(self._hear)

    def starting(self) -> None:
        """From here on, the first cancels the current task, which ends when the service that it is starting
        answers; the second does not wait.

        Nothing is raised in between: in the middle of an import, that leaves a lock behind on which other
        threads hang.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def act(_: signal.Signals) -> None:
            if self._heard > 1:
                os._exit(AT_ONCE)
            loop.call_soon_threadsafe(task.cancel)

        self._act = act

    def playing(self, runtime: Runtime, task: asyncio.Future[Any]) -> None:
        """From here on, the first stops the chains and the second cancels the task that plays them."""
        loop = asyncio.get_running_loop()

        def act(number: signal.Signals) -> None:
            loop.call_soon_threadsafe(self._end_play, runtime, task, number)

        self._act = act
        self.install()

    def closing(self) -> None:
        """From here on everything is kept already: a first request waits for the end, a second does not."""
        self._act = self._end_closing

    def _hear(self, number: int) -> None:
        now = time.monotonic()
        echo = now - self._last < ECHO_SECONDS
        self._last = now
        if not echo:
            self._heard += 1
            self._act(signal.Signals(number))

    def _end_start(self, _: signal.Signals) -> None:
        raise KeyboardInterrupt

    def _end_play(self, runtime: Runtime, task: asyncio.Future[Any], number: signal.Signals) -> None:
        if not runtime.stop.is_set():
            how = "Ctrl-C" if number is signal.SIGINT else number.name
            stop(runtime, f"{how} (again ends at once)")
            return
        runtime.listener.note(
            f"ending at once; nothing that is committed or journaled is lost. To go on: {self._again}"
        )
        task.cancel()

    def _end_closing(self, _: signal.Signals) -> None:
        """The watchdog and the kernel end what this process has started, however it ends."""
        if self._heard > 1:
            os._exit(AT_ONCE)
        click.echo("closing; once more ends without waiting", err=True)
