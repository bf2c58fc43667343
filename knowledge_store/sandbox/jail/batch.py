"""One candidate's verification, as the zygote conducts it: K_o first, then every procedure."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import execute, holder
from .channel import Channel
from .layers import Confinement
from .watch import Ended, Watch

Outcome = dict[str, Any]
"""``status`` (wait status or None), ``cause`` (why it was stopped), ``cpu`` (s), ``report`` (text)."""

ENDING_SECONDS = 1.0
"""How long a late process may take to say where it stands, before it is killed."""
PASSED = b'{"kind": "ok"'


@dataclass
class Running:
    """A procedure that was started. ``pid`` is 0 until the holder has announced it."""

    index: int
    deadline: float
    pid: int = 0
    cause: str = ""


class Batch:
    """Runs one candidate; use once."""

    def __init__(
        self,
        settings: dict[str, Any],
        confinement: Confinement,
        channel: Channel,
        watch: Watch,
        objects: str,
        procedures: list[holder.Procedure],
    ) -> None:
        self._settings = settings
        self._confinement = confinement
        self._channel = channel
        self._watch = watch
        self._objects = objects
        self._procedures = procedures
        self._running: list[Running] = []
        self._groups: list[int] = []
        self._holder = 0
        self._control = -1

    def run(self) -> tuple[Outcome, list[Outcome]]:
        """The outcome of K_o, and one per procedure in order; none when K_o did not succeed."""
        self._watch.forget(len(self._procedures))
        try:
            objects = self._run_objects()
            passed = objects["status"] is None and not objects["cause"]
            if not self._confinement.can_clone:
                self._end_group(self._holder)
            return objects, self._run_procedures() if passed else []
        finally:
            if self._control >= 0:
                os.close(self._control)
            for group in list(self._groups):
                self._end_group(group)

    def _end_group(self, leader: int) -> None:
        """At once when its leader has ended: later the number may be somebody else's."""
        self._groups.remove(leader)
        self._watch.kill_group(leader)

    def _run_objects(self) -> Outcome:
        """``status`` is None when K_o has passed: its process lives on, to be cloned."""
        self._start_holder()
        running = Running(-1, self._deadline(), self._holder)
        while not (self._has_ended(running) or self._has_passed()):
            self._watch.wait(running.deadline, self._holder)
            self._stop_if_late(running)
        if self._has_passed() and not running.cause:
            return self._outcome(None, "", b"K")
        return self._outcome(self._watch.ended[self._holder], running.cause, b"K")

    def _start_holder(self) -> None:
        read, self._control = os.pipe()
        world = (self._settings, self._confinement, self._channel.writer)
        if self._confinement.can_clone:
            body = partial(holder.run, *world, read, self._objects, self._procedures)
        else:
            body = partial(holder.run_alone, *world, self._objects, None)
        self._holder = self._watch.fork(body, self._control)
        self._groups.append(self._holder)
        os.close(read)

    def _has_passed(self) -> bool:
        return self._watch.reports.get(self._holder, {}).get(b"K", b"").startswith(PASSED)

    def _run_procedures(self) -> list[Outcome]:
        waiting = list(range(len(self._procedures)))[::-1]
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(self._procedures):
            while waiting and len(self._running) < self._settings["concurrency"]:
                self._running.append(self._start(waiting.pop()))
            self._watch.wait(min(running.deadline for running in self._running), self._holder)
            for running in list(self._running):
                self._stop_if_late(running)
                if self._has_ended(running):
                    self._running.remove(running)
                    if running.pid in self._groups:
                        self._end_group(running.pid)
                    end = self._watch.ended.get(running.pid)
                    outcomes[running.index] = self._outcome(end, running.cause, b"R", running.pid)
        return [outcomes[index] for index in sorted(outcomes)]

    def _start(self, index: int) -> Running:
        if self._confinement.can_clone:
            with suppress(BrokenPipeError):  # then the holder has ended, which is seen
                os.write(self._control, b"g")
            return Running(index, self._deadline())
        world = (self._settings, self._confinement, self._channel.writer)
        body = partial(holder.run_alone, *world, self._objects, self._procedures[index])
        pid = self._watch.fork(body, self._control)
        self._groups.append(pid)
        return Running(index, self._deadline(), pid)

    def _deadline(self) -> float:
        return time.monotonic() + float(self._settings["wall_seconds"])

    def _has_ended(self, running: Running) -> bool:
        started = self._watch.started
        if not running.pid and running.index < len(started):
            running.pid = started[running.index]
        if running.pid in self._watch.ended:
            return True
        if not running.pid and self._holder in self._watch.ended:
            running.cause = running.cause or "holder"
            return True
        return False

    def _stop_if_late(self, running: Running) -> None:
        if running.deadline <= time.monotonic() and not self._has_ended(running):
            number = signal.SIGKILL if running.cause else execute.LATE
            running.cause, running.deadline = "wall", time.monotonic() + ENDING_SECONDS
            self._watch.kill(running.pid if self._is_ours(running.pid) else self._holder, number)

    def _is_ours(self, pid: int) -> bool:
        """Whether the process belongs to this candidate: a hostile holder may announce any number."""
        try:
            return pid > 0 and os.getpgid(pid) in self._groups
        except ProcessLookupError:
            return False

    def _outcome(self, end: Ended | None, cause: str, tag: bytes, pid: int | None = None) -> Outcome:
        pid = self._holder if pid is None else pid
        cause = "broken" if pid in self._watch.broken else cause
        reports = self._watch.reports.get(pid, {})
        report = reports.get(tag, b"").decode("latin-1")
        return {
            "status": end.status if end else None,
            "cpu": end.cpu if end else 0.0,
            "cause": cause,
            "report": report,
        }
