"""The journal of an episode under way: each model reply, on the disk before it is used.

A restarted episode is played again from its beginning, with the recorded replies in place of the
backbone's, against an environment that does the same again; after the last of them it goes on as if
nothing had happened. One file per episode, ``journal/00007.jsonl``, removed once the episode is committed.

A line is its own CRC-32 in eight hex digits, a blank, and a JSON object, of one of these kinds:

- ``reply``: a reply, with the call's index, the hash of the request and the hash of its first message;
- ``resumed``: the episode was taken up again;
- ``dropped``: replies that stood here and could not be used, and why (:class:`ocm.types.Replay`).

Room for the next lines is reserved (zero bytes at the end) *before* a request is sent, so a full disk is
met before a reply has been paid for.
"""

from __future__ import annotations

import errno
import json
import os
import threading
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from knowledge_store.lake import disk
from knowledge_store.lake.paths import ChainPaths
from ocm.identity import request_hash, sha256
from ocm.types import Replay, Reply, Request, Usage

RESERVED = 128 * 1024
"""Bytes of room that are asked for at once."""
LEAST = 64 * 1024
"""Bytes of room without which no request is sent."""
SYNC = getattr(os, "fdatasync", os.fsync)
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
"""What file systems answer that cannot reserve room."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A reply as it was recorded."""

    call: int
    request: str
    """:func:`ocm.identity.request_hash` of the request."""
    first: str
    """SHA-256 of the request's first message, which holds the method's prompt."""
    reply: Reply


@dataclass(frozen=True, slots=True)
class Content:
    """What the bytes of a journal say."""

    replies: tuple[Recorded, ...] = ()
    replay: Replay = field(default_factory=Replay)
    """What was counted; ``calls`` is always 0."""
    whole: bool = True
    """Whether every line could be used."""


_RESUMED = Replay(resumes=1)


class Journal:
    """The journal of one episode. Blocking; its methods may be called from any thread, one at a time.

    Made for each episode that is begun; what an interrupted run has left is read at once.

    Raises:
        StorageError: the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._descriptor = -1
        self._size = self._room = 0
        disk.make_folder(path.parent)
        with disk.storage_errors(path):
            content = read(path.read_bytes()) if path.exists() else Content()
        self._replies = list(content.replies)
        self._replay = content.replay
        self._open()

    @property
    def replay(self) -> Replay:
        """What this attempt took from the journal so far."""
        return self._replay

    def begin(self) -> None:
        """Begin an attempt: replay from the first call on."""
        self._replay = replace(self._replay, calls=0)
        if self._replies:
            self._replay = replace(self._replay, resumes=self._replay.resumes + 1)
            self._append(_resumed_line(), durably=False)

    def recorded(self, request: Request) -> Reply | None:
        """The reply to this very request, if an interrupted attempt got one.

        A request that differs from the recorded one ends the replay: this reply and all later ones are
        dropped, since they answered something else. What was replayed before stays: it answered the very
        same requests.
        """
        if request.call >= len(self._replies):
            return None
        found = self._replies[request.call]
        if (found.call, found.request) == (request.call, request_hash(request)):
            self._replay = replace(self._replay, calls=request.call + 1)
            return found.reply
        reason = "transcript" if found.first == _first(request) else "prompt"
        self._replay = _dropped(self._replay, reason, self._replies[request.call :])
        del self._replies[request.call :]
        self._open()
        return None

    def reserve(self) -> None:
        """See that there is room for the next reply."""
        if self._room - self._size >= LEAST or not hasattr(os, "posix_fallocate"):
            return
        with self._lock, disk.storage_errors(self._path):
            try:
                os.posix_fallocate(self._descriptor, self._size, RESERVED)
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise
            self._room = self._size + RESERVED

    def append(self, request: Request, reply: Reply) -> None:
        """Record a reply. One that cost money survives a power cut, any other a kill."""
        recorded = Recorded(request.call, request_hash(request), _first(request), reply)
        self._append(_reply_line(recorded), durably=reply.cost != 0)
        self._replies.append(recorded)

    def discard(self) -> None:
        """Remove the journal: its episode is committed."""
        self.close()
        with disk.storage_errors(self._path):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, line: bytes, *, durably: bool) -> None:
        with self._lock, disk.storage_errors(self._path):
            _write(self._descriptor, line, self._size)
            self._size += len(line)
            if durably:
                SYNC(self._descriptor)

    def _open(self) -> None:
        """Open the file; what was there is written anew first, without what could not be used."""
        self.close()
        lines = [_resumed_line() for _ in range(self._replay.resumes)]
        lines += [_reply_line(recorded) for recorded in self._replies]
        lines += [_dropped_line(self._replay)] if self._replay.dropped else []
        data = b"".join(lines)
        if self._path.exists():
            disk.place(self._path, data)
        with self._lock, disk.storage_errors(self._path):
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            disk.flush_folder(self._path.parent)
        self._size = self._room = len(data)


def discard_journals(paths: ChainPaths, below: int) -> None:
    """Remove the journals of episodes that are committed: a kill came between commit and removal.

    Raises:
        StorageError: one cannot be removed.
    """
    with disk.storage_errors(paths.journals):
        for path in paths.journals.glob("*.jsonl"):
            if path.stem.isdigit() and int(path.stem) < below:
                path.unlink()


def replies_in(path: Path) -> int:
    """Number of replies that a journal would answer; 0 where there is none, or no longer.

    Raises:
        StorageError: it cannot be read.
    """
    with disk.storage_errors(path):
        try:
            return len(read(path.read_bytes()).replies)
        except FileNotFoundError:  # its episode was committed just now
            return 0


def read(data: bytes) -> Content:
    """What a journal's bytes say; the first line that is not whole ends it.

    A torn last line is a reply that was never used; after a damaged line nothing can be replayed.
    """
    *lines, torn = data.rstrip(b"\0").split(b"\n")
    entries = [_entry(line) for line in lines]
    lost = entries.count(None)
    end = entries.index(None) if lost else len(entries)
    usable = tuple(one for one in entries[:end] if isinstance(one, Recorded))
    later = [one for one in entries[end:] if isinstance(one, Recorded)]
    replay = _counted(entries)
    if lost or torn:
        replay = replace(replay, dropped=replay.dropped + lost + bool(torn))  # of these nothing is known
        replay = _dropped(replay, "damaged" if lost else "torn", later)
    return Content(usable, replay, whole=not (lost or torn))


def _counted(entries: Sequence[Recorded | Replay | None]) -> Replay:
    """What was counted so far, also behind a damaged line: what was dropped before has been paid for."""
    resumes = sum(one is _RESUMED for one in entries)
    dropped = [one for one in entries if isinstance(one, Replay) and one is not _RESUMED]
    return replace(dropped[-1] if dropped else Replay(), resumes=resumes)


def _dropped(replay: Replay, reason: str, replies: Sequence[Recorded]) -> Replay:
    usages = [one.reply.usage for one in replies]
    costs = [replay.dropped_cost, *(one.reply.cost for one in replies)]
    return replace(
        replay,
        ended=reason,
        dropped=replay.dropped + len(replies),
        dropped_tokens=replay.dropped_tokens + sum(usage.prompt + usage.completion for usage in usages),
        dropped_cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


# --- lines -------------------------------------------------------------------------------------


def _reply_line(recorded: Recorded) -> bytes:
    return _line("reply", asdict(recorded))


def _resumed_line() -> bytes:
    return _line("resumed", {})


def _dropped_line(replay: Replay) -> bytes:
    return _line("dropped", asdict(replace(replay, resumes=0, calls=0)))


def _line(kind: str, fields: dict[str, Any]) -> bytes:
    body = json.dumps({"kind": kind, **fields}, separators=(",", ":"), ensure_ascii=True).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _entry(line: bytes) -> Recorded | Replay | None:
    """A line's meaning, counts as a :class:`Replay`; None where it is not as it was written, or was written
    by another version of the program."""
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        fields = json.loads(body)
        kind = fields.pop("kind", "")
        if kind == "resumed":
            return _RESUMED
        return Replay(**fields) if kind == "dropped" else _recorded(**fields)
    except (AttributeError, TypeError, ValueError):
        return None


def _recorded(call: int, request: str, first: str, reply: dict[str, Any]) -> Recorded:
    usage = Usage(**reply.pop("usage", {}))
    return Recorded(call, request, first, Reply(**reply, usage=usage))


def _first(request: Request) -> str:
    return sha256(request.messages[0].content) if request.messages else ""


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
