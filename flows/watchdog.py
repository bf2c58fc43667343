"""``python watchdog.py MARK``: end what a process has left behind, once that process is gone.

A driver that is killed cannot end its Ray. Most of it then ends by itself, but two of Ray's agents go on
for a minute, trying to tell a dead server, and what a host's simulator started may go on for ever. So the
driver keeps one of these: it does nothing until its standard input ends, which happens however the driver
ends, and then kills every process

- in whose environment, as it was started, MARK stands: all that Ray has started, and all that these did
- or that the driver has named on a line of its own, as ``pid start-time``: a process that shows another
  title may have overwritten its environment

Linux only. Standard library only, so that it may run as ``python -I -S``, small and at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "OCM_RAY_SESSION"
"""Environment variable that stands in everything that Ray starts."""
PATIENCE = 10.0
"""How long a killed process may take to go, in seconds."""


@contextmanager
def watched() -> Iterator[subprocess.Popen[bytes] | None]:
    """What is started in here ends soon after this process, or at the end of this block.

    Yields the watchdog, for :func:`name_children`; None where there is none.
    """
    if sys.platform != "linux":
        yield None
        return
    mark = uuid.uuid4().hex
    dog = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, f"{MARK}={mark}"],
        stdin=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C and a lost terminal are for the driver
    )
    os.environ[MARK] = mark
    try:
        yield dog
    finally:
        os.environ.pop(MARK, None)
        dog.communicate()


def name_children(dog: subprocess.Popen[bytes] | None) -> None:
    """Name all processes that this one has started, and those that they have started."""
    import psutil

    if dog is None or dog.stdin is None:
        return
    for child in psutil.Process().children(recursive=True):
        start = start_time(child.pid)
        if start is not None and child.pid != dog.pid:
            dog.stdin.write(f"{child.pid} {start}\n".encode())
    dog.stdin.flush()


def start_time(pid: int) -> str | None:
    """When a process started, in the kernel's ticks: with its id, it names one process for ever.

    None when it is gone, or dead and only not yet waited for.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def main(mark: bytes) -> None:
    """Wait for the end of standard input, then kill until nothing is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    named = {line.strip() for line in sys.stdin}
    deadline = time.monotonic() + PATIENCE
    while (left := list(_left(mark, named))) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


def _left(mark: bytes, named: set[str]) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        pid = int(folder.name)
        start = start_time(pid)
        if start is not None and (f"{pid} {start}" in named or mark in _environment(folder)):
            yield pid


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone, or another user's
        return []


if __name__ == "__main__":
    main(sys.argv[1].encode())
