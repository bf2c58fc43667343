"""One writer at a time: the lease of a chain or of a sweep.

A lease is a numbered file, ``lease-00003.json``, in the folder that it is about; the highest number counts.
Whoever wants the lease looks at the latest one: if it was given back, or its holder is dead
(:mod:`.holders`), the next number is taken by a link, which exactly one of several can make. The file stays
when the lease is given back, so that numbers never come twice. It needs hard links and nothing else: no lock
server, no equal clocks; it works between machines on a shared file system.

A holder that was taken for dead and was not, such as one that was suspended, notices at its next
:meth:`Lease.check`; and two that commit the same episode are told apart by the commit itself.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.holders import Holder, is_alive, present
from ocm.errors import LeaseError, StorageError

log = logging.getLogger(__name__)

_NAME = re.compile(r"lease-(\d{5,})\.json")
_MEND = "remove it if nothing is being played here"
WAIT_SECONDS = 2.0
"""Between two looks of one who waits."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Lease:
    """What a lease file says."""

    path: Path
    holder: Holder
    taken_at: float
    """Seconds since the epoch, UTC."""
    given_back: bool = False

    def check(self) -> None:
        """See that the lease is still this holder's.

        Raises:
            LeaseError: another process has taken it over.
        """
        found = latest(self.path.parent)
        if found is None or found.path != self.path:
            by = f"by {found.holder}" if found else "away"
            raise LeaseError(
                f"{self.path}: taken over {by}, since this process seemed dead; stop one of the two"
            )


@dataclass(frozen=True, slots=True)
class _Fields:
    holder: Holder
    taken_at: float
    given_back: bool


_FIELDS = TypeAdapter(_Fields)


@contextmanager
def holding(
    root: Path, folder: Path, what: str, *, wait: bool = False, tell: Tell = lambda _: None
) -> Iterator[Lease]:
    """Hold the lease of a folder until the end of the block.

    Args:
        root: the storage root, in which this process is present meanwhile.
        folder: the sweep's or the chain's own.
        what: for messages, such as ``this sweep``.
        wait: wait for a living holder instead of raising.
        tell: is told what is waited for.

    Raises:
        LeaseError: a living process holds it.
        StorageError: the folder is not writable, or the lease file is damaged.
    """
    with present(root) as me:
        lease = _take(root, folder, what, me, tell, wait)
        try:
            yield lease
        finally:
            _give_back(lease)


def latest(folder: Path) -> Lease | None:
    """The lease that counts, or None where there never was one.

    Raises:
        StorageError: its file is damaged.
    """
    numbers = _numbers(folder)
    return _read(folder, numbers[-1]) if numbers else None


def held_by(root: Path, folder: Path, alive: Callable[[Holder], bool] | None = None) -> Holder | None:
    """The living holder of a folder's lease. May take a minute for one on another machine.

    ``alive``: tells of a holder, such as one that remembers it; by default it is found out anew.

    Raises:
        StorageError: the lease file is damaged.
    """
    lease = latest(folder)
    if lease is None or lease.given_back:
        return None
    return lease.holder if (alive or partial(is_alive, root))(lease.holder) else None


def _take(root: Path, folder: Path, what: str, me: Holder, tell: Tell, wait: bool) -> Lease:
    disk.make_folder(folder)
    told = ""
    while True:
        before = latest(folder)
        if before and not before.given_back and is_alive(root, before.holder, tell):
            if not wait:
                mend = "wait for it to end (`ocm run --wait` does), or stop it"
                raise LeaseError(f"{before.path}: {_holds(before, what)}; {mend}")
            if told != before.holder.id:
                tell(f"{_holds(before, what)}: waiting for it to end")
                told = before.holder.id
            time.sleep(WAIT_SECONDS)
            continue
        number = 1 + (_number(before.path) if before else 0)
        path = folder / f"lease-{number:05d}.json"
        lease = Lease(path, me, time.time())
        if disk.place_once(path, _bytes(lease)):
            if _numbers(folder)[-1] > number:  # this number was taken and removed since the look above
                path.unlink(missing_ok=True)
                continue
            for old in _numbers(folder):
                if old < number:
                    (folder / f"lease-{old:05d}.json").unlink(missing_ok=True)
            return lease


def _give_back(lease: Lease) -> None:
    """Unless it was taken over. Where the disk refuses, the lease is free once this process has ended."""
    try:
        found = latest(lease.path.parent)
        if found is not None and found.path == lease.path:
            disk.place(lease.path, _bytes(replace(lease, given_back=True)))
    except StorageError as error:
        log.warning("a lease could not be given back: %s", error)


def _holds(lease: Lease, what: str) -> str:
    minutes = max(0.0, time.time() - lease.taken_at) / 60
    age = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    return f"{lease.holder} has been playing {what} for {age}"


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    with disk.storage_errors(folder):
        names = [path.name for path in folder.iterdir()]
    return sorted(int(found[1]) for found in map(_NAME.fullmatch, names) if found)


def _number(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def _read(folder: Path, number: int) -> Lease | None:
    path = folder / f"lease-{number:05d}.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # taken over just now
        return latest(folder)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}; {_MEND}", path=str(path)) from error
    fields = disk.decode(_FIELDS, path, disk.parse_json(path, data, _MEND), _MEND)
    return Lease(path, fields.holder, fields.taken_at, fields.given_back)


def _bytes(lease: Lease) -> bytes:
    fields = _Fields(lease.holder, lease.taken_at, lease.given_back)
    return disk.json_bytes(asdict(fields))
