"""Who writes to a storage root, and whether they are alive: for leases (:mod:`.lease`).

A process is one *holder*. While it lives it counts upwards in a file of its own, ``.holders/<id>.json``, in
place, so that a full disk does not make it look dead. Whether another holder is alive is found in two ways:

- on the same machine by its process, which the kernel knows: a dead one is known at once;
- on another machine by its count: when it has not changed for :data:`SILENCE` seconds *of the observer's own
  steady clock*, the holder is dead. No two machines' clocks are ever compared.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import platform
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from pydantic import TypeAdapter

from knowledge_store.lake import disk

log = logging.getLogger(__name__)

BEAT = 10.0
"""Seconds between two counts."""
SILENCE = 60.0
"""Seconds without a count after which a holder on another machine is dead."""
LOOK = 1.0
"""Seconds between two looks at another's count."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that writes to a storage root."""

    id: str
    user: str
    host: str
    machine: str
    """Equal for processes that see each other's process ids."""
    pid: int
    started: str
    """When the process started, as the kernel counts: with ``pid`` it names one process for ever."""
    since: float
    """Seconds since the epoch, UTC."""

    def __str__(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}"


_HOLDER = TypeAdapter(Holder)


def holders_folder(root: Path) -> Path:
    return root / ".holders"


@contextmanager
def present(root: Path) -> Iterator[Holder]:
    """Be a holder in this storage root, at least until the end of the block.

    Raises:
        StorageError: the root is not writable.
    """
    place = root.resolve()
    with _LOCK:
        presence = _PRESENT.get(place)
        if presence is None:
            presence = _PRESENT[place] = _Presence(root)
        presence.uses += 1
    try:
        yield presence.holder
    finally:
        with _LOCK:
            presence.uses -= 1
            if not presence.uses:
                del _PRESENT[place]
                presence.end()


class _Presence:
    """This process as a holder in one storage root, with the thread that counts."""

    def __init__(self, root: Path) -> None:
        self.uses = 0
        self.holder = _this_process()
        folder = holders_folder(root)
        disk.make_folder(folder)
        _forget_the_dead(folder)
        self._path = folder / f"{self.holder.id}.json"
        line = json.dumps(asdict(self.holder)).encode() + b"\n"
        with disk.storage_errors(self._path):
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            os.write(self._descriptor, line + b"%012d\n" % 0)
        self._count_at = len(line)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="beat")
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        os.close(self._descriptor)
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:  # the next holder removes it, since this process is dead by then
            log.warning("%s could not be removed: %s", self._path, error.strerror)

    def _beat(self) -> None:
        count = 0
        told = False
        while not self._ended.wait(BEAT):
            count += 1
            try:
                os.pwrite(self._descriptor, b"%012d\n" % count, self._count_at)
            except OSError as error:
                if not told:
                    log.warning("other machines cannot see that this process is alive: %s", error.strerror)
                told = True


_LOCK = threading.Lock()
_PRESENT: dict[Path, _Presence] = {}
"""Storage roots in which this process is a holder."""


def is_alive(root: Path, holder: Holder, tell: Callable[[str], None] = lambda _: None) -> bool:
    """Whether a holder lives. Waits up to :data:`SILENCE` seconds where only its count can tell.

    Raises:
        StorageError: its count cannot be read.
    """
    path = holders_folder(root) / f"{holder.id}.json"
    if holder.machine == machine():
        return process_start(holder.pid) == holder.started
    if not path.exists():
        return False
    tell(f"looking for up to {SILENCE:.0f} s whether {holder} is alive")
    first, deadline = _count(path), time.monotonic() + SILENCE
    while time.monotonic() < deadline:
        time.sleep(LOOK)
        now = _count(path)
        if now is None:
            return False
        if now != first:
            return True
    return False


def machine() -> str:
    """A name for what shares process ids with this process: this boot of this machine, or this container."""
    if sys.platform == "linux":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}/{platform.node()}"
    return f"{uuid.getnode():x}/{platform.node()}"


def process_start(pid: int) -> str | None:
    """When a process started, as the kernel counts; None when it is gone, or dead and not yet waited for.

    On Linux in ticks since the boot, which no setting of the clock changes.
    """
    try:
        if sys.platform == "linux":
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            return None if fields[0] in "ZX" else fields[19]
        return str(psutil.Process(pid).create_time())
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return None


def _this_process() -> Holder:
    pid = os.getpid()
    started = process_start(pid)
    assert started is not None, "this process is alive"
    return Holder(
        id=secrets.token_hex(6),
        user=_user(),
        host=platform.node(),
        machine=machine(),
        pid=pid,
        started=started,
        since=time.time(),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return f"user {os.getuid()}"


def _count(path: Path) -> bytes | None:
    """The file's bytes, opened anew: what a network file system shows for sure. None when it is gone.

    Raises:
        StorageError: it cannot be read, so nobody can tell whether its holder lives.
    """
    with disk.storage_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _forget_the_dead(folder: Path) -> None:
    """Remove the files of dead processes of this machine: their leases name the process itself."""
    here = machine()
    for path in folder.glob("*.json"):
        holder = _read(path)
        if holder and holder.machine == here and process_start(holder.pid) != holder.started:
            with suppress(OSError):  # gone, or another user's: it is in nobody's way
                path.unlink()


def _read(path: Path) -> Holder | None:
    """None for a file that its owner has just begun to write or removed, or that cannot be read."""
    try:
        line = path.read_bytes().split(b"\n")[0]
        return _HOLDER.validate_python(json.loads(line))
    except (OSError, ValueError):
        return None
