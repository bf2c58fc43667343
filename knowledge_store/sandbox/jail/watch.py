"""The zygote's eyes: fork processes, see what they send and how they end, stop them.

Never runs, parses or compares anything that a child made: a report is bytes that are passed on, the
truth about a process is its exit status from the kernel.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, NoReturn

from .channel import Channel

AT_ONCE = 256
"""Messages, and ends of processes, that are taken note of before the clock is looked at again."""
LOST = 98
"""Exit status of a process that failed before it came to the code."""


class Ended(NamedTuple):
    """What the kernel says about a process that ended: wait status, seconds of processor time."""

    status: int
    cpu: float


class OwnerGone(Exception):
    """The owner has hung up: end at once."""


class Watch:
    """Children of this process, by process id: their first report of each tag, and their end."""

    def __init__(self, owner: socket.socket, channel: Channel) -> None:
        self.reports: dict[int, dict[bytes, bytes]] = {}
        self.started: list[int] = []
        """Process ids that the holder announced, in order of its procedures."""
        self.ended: dict[int, Ended] = {}
        self.broken: set[int] = set()
        """Processes that sent anything but one report: killed, and not believed in anything."""
        self._procedures = 0
        self._channel = channel
        self._owner = owner
        self._signals, self._wakeup = socket.socketpair()
        self._signals.setblocking(False)
        self._wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        self._poll = select.poll()
        for end in (owner, channel, self._signals):
            self._poll.register(end, select.POLLIN)

    def forget(self, procedures: int) -> None:
        """Start a new batch: nothing of the last one is alive. Its holder may announce so many starts."""
        self._procedures = procedures
        self.reports.clear()
        self.started.clear()
        self.ended.clear()
        self.broken.clear()

    def fork(self, body: Callable[[], object], *unwanted: int) -> int:
        """Fork a process group of its own that runs ``body``; it keeps none of the zygote's descriptors."""
        child = os.fork()
        if child == 0:
            self._become(body, unwanted)
        with suppress(OSError):  # the child does the same; whoever is second may find it done or gone
            os.setpgid(child, child)
        return child

    def _become(self, body: Callable[[], object], unwanted: tuple[int, ...]) -> NoReturn:
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            own = (
                self._owner.fileno(),
                self._channel.fileno(),
                self._signals.fileno(),
                self._wakeup.fileno(),
            )
            for descriptor in (*own, *unwanted):
                os.close(descriptor)
            body()
        finally:  # never return into the zygote
            os._exit(LOST)

    def wait(self, until: float, holder: int) -> None:
        """Sleep until something happens or the clock passes ``until``; then take note of all of it."""
        milliseconds = max(0, int((until - time.monotonic()) * 1000) + 1)
        for descriptor, _ in self._poll.poll(milliseconds):
            if descriptor == self._owner.fileno():
                raise OwnerGone
            if descriptor == self._signals.fileno():
                self._drain_signals()
        self._reap()
        for sender, body in islice(self._channel.receive(), AT_ONCE):  # the poll tells of the rest
            self._note(sender, body, holder)

    def _drain_signals(self) -> None:
        with suppress(BlockingIOError):
            while self._signals.recv(4096):
                pass

    def _reap(self) -> None:
        """Some of those that ended: a holder that starts and ends processes on and on holds nothing up."""
        with suppress(ChildProcessError):
            for _ in range(AT_ONCE):
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.ended[pid] = Ended(status, usage.ru_utime + usage.ru_stime)
            self._wakeup.send(b"\0")  # there may be more

    def _note(self, sender: int, body: bytes, holder: int) -> None:
        tag = body[:1]
        if sender == holder and tag == b"P" and self._note_start(body):
            return
        reports = self.reports.setdefault(sender, {})
        if tag not in (b"K", b"R") or tag in reports:
            self.broken.add(sender)
            self.kill(sender)
        else:
            reports[tag] = body[1:]

    def _note_start(self, body: bytes) -> bool:
        """Whether it announces the start that is next: a holder's own word, its number at most 19 digits."""
        number = str(len(self.started)).encode()
        index, _, pid = body[1:].partition(b" ")
        if index != number or len(self.started) == self._procedures or not pid.isdigit() or len(pid) > 19:
            return False
        self.started.append(int(pid))
        return True

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Signal one process, unless it is known to have ended."""
        if pid > 1 and pid != os.getpid() and pid not in self.ended:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_group(self, leader: int) -> None:
        """End all processes of a group and collect them: none can leave it."""
        with suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-leader, 0)
