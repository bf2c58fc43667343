"""``python watchdog.py MARK``: end what a process has left behind, once that process is gone.

A driver that is killed cannot end its Ray. Most of it then ends by itself, but two of Ray's agents go on
for a minute, trying to tell a dead server, and what a host's simulator started may go on for ever. So the
driver keeps one of these: it waits until its standard input ends, which happens however the driver ends,
and then kills every process

- in whose environment, as it was started, MARK stands: all that Ray has started, and all that these did
- or that the driver has named on a line of its own, as ``pid start-time``: a process that shows another
  title may have overwritten its environment
- or whose parent is one of these: the driver may have been killed before it could name it

Until the driver has named all (an empty line), it looks for itself, and remembers: of a driver that is
killed while it starts Ray, the kernel ends the raylet too, and what that has started shows soon neither
the mark nor whose it is.

Linux only. Standard library only, so that it may run as ``python -I -S``, small and at once.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "OCM_RAY_SESSION"
"""Environment variable that stands in everything that Ray starts."""
PATIENCE = 10.0
"""How long a killed process may take to go, in seconds."""
LOOK_SECONDS = 0.2
"""How often it looks until all is named. A process needs longer before it can show another title."""


@contextmanager
def watched(mark: str) -> Iterator[subprocess.Popen[bytes] | None]:
    """What :func:`claimed` with this mark ends soon after this process, or at the end of this block.

    Yields the watchdog; None where there is none.
    """
    if sys.platform != "linux":
        yield None
        return
    dog = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, f"{MARK}={mark}"],
        stdin=subprocess.PIPE,
        # marked by another driver, it would be killed before it can end anything
        env={name: value for name, value in os.environ.items() if name != MARK},
        start_new_session=True,  # Ctrl-C and a lost terminal are for the driver
    )
    try:
        yield dog
    finally:
        dog.communicate()


@contextmanager
def claimed(dog: subprocess.Popen[bytes] | None, mark: str) -> Iterator[None]:
    """What is started in here is marked and named to the watchdog: nothing that came before or comes later,
    such as a Prefect server or what a notebook runs."""
    if dog is None or dog.stdin is None:
        yield
        return
    before, outer = descendants(), os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        del os.environ[MARK]
        if outer is not None:
            os.environ[MARK] = outer
        # also what a start that failed has left half way
        dog.stdin.writelines(f"{one}\n".encode() for one in descendants() - before)
        dog.stdin.write(b"\n")
        dog.stdin.flush()


def descendants() -> frozenset[str]:
    """All processes that this one has started, and those that they have, as ``pid start-time``."""
    import psutil

    found = {child.pid: start_time(child.pid) for child in psutil.Process().children(recursive=True)}
    return frozenset(f"{pid} {start}" for pid, start in found.items() if start is not None)


def start_time(pid: int) -> str | None:
    """When a process started, in the kernel's ticks: with its id, it names one process for ever.

    None when it is gone, or dead and only not yet waited for.
    """
    fields = _stat(pid)
    return fields[19] if fields else None


def main(mark: bytes) -> None:
    """Wait for the end of standard input, then kill until nothing is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    named = _named(mark)
    deadline = time.monotonic() + PATIENCE
    while (left := _left(mark, named)) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


def _named(mark: bytes) -> set[str]:
    """What the driver has named, and what was found before it had named all, once the driver is gone."""
    found: set[str] = set()
    told = b""
    while True:
        all_named = told.startswith(b"\n") or b"\n\n" in told
        if not select.select([0], [], [], None if all_named else LOOK_SECONDS)[0]:
            _left(mark, found)
        elif piece := os.read(0, 65_536):
            told += piece
        else:
            return found | {line.strip() for line in told.decode().splitlines()}


def _left(mark: bytes, named: set[str]) -> set[int]:
    """What is to be killed; all of it is named from here on.

    That of a marked process's children too: one that is young, and shows another title already, is known
    by its parent alone.
    """
    others = [int(folder.name) for folder in Path("/proc").iterdir() if _is_other(folder)]
    stats = {pid: _stat(pid) for pid in others}
    alive = {pid: fields for pid, fields in stats.items() if fields}
    ours = {
        pid
        for pid, fields in alive.items()
        if f"{pid} {fields[19]}" in named or mark in _environment(Path(f"/proc/{pid}"))
    }
    while young := {pid for pid, fields in alive.items() if int(fields[1]) in ours} - ours:
        ours |= young
    named |= {f"{pid} {alive[pid][19]}" for pid in ours}
    return ours


def _is_other(folder: Path) -> bool:
    return folder.name.isdigit() and int(folder.name) != os.getpid()


def _stat(pid: int) -> list[str]:
    """The kernel's fields on a living process, from its state on: 1 is the parent, 19 the start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [] if fields[0] in "ZX" else fields


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone, or another user's
        return []


if __name__ == "__main__":
    main(sys.argv[1].encode())
