"""Memory, as containers see it: what is left to new processes, and what a process takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

MB = 2**20


class _Files(NamedTuple):
    """Where a version of control groups keeps its figures, in bytes."""

    folder: str
    limit: str
    used: str
    reclaimable: str
    """Key in ``memory.stat``: cached files, given back before anything is killed."""


_V1 = _Files("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = _Files("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def available_mb(root: Path = Path("/")) -> float:
    """Memory that new processes can take without swapping: the machine's, or what the control groups
    around this process leave, whichever is less.

    ``root`` is where ``proc`` and ``sys`` are.
    """
    import psutil

    machine = psutil.virtual_memory()
    return min([float(machine.available), *_rooms(root, machine.total)]) / MB


def _rooms(root: Path, total: int) -> list[float]:
    """What each control group around this process leaves, in bytes; none where there are none."""
    listing = root / "proc/self/cgroup"
    if not listing.exists():
        return []
    rooms: list[float | None] = []
    for line in listing.read_text("utf-8").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or "memory" in controllers.split(","):
            files = _V2 if number == "0" else _V1
            top = root / files.folder
            inner = top / path.lstrip("/")
            around = [folder for folder in (inner, *inner.parents) if folder.is_relative_to(top)]
            rooms += [_room(folder, files, total) for folder in around]
    return [room for room in rooms if room is not None]


def _room(folder: Path, files: _Files, total: int) -> float | None:
    """None where it has no limit below the machine's ``total``, or lies outside what this container sees."""
    try:
        limit = (folder / files.limit).read_text("ascii").strip()
        if not limit.isdigit() or int(limit) >= total:
            return None
        used = int((folder / files.used).read_text("ascii"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
    except FileNotFoundError:
        return None
    return max(0.0, int(limit) - used + int(stat.get(files.reclaimable, 0)))


def process_mb() -> float:
    """What this process and all that it started take.

    On Linux a page that several processes share counts in parts (PSS): hosts share Ray's libraries, half
    of the resident memory (RSS) of a small one. Elsewhere, and of processes that hide it, RSS.
    """
    import psutil

    process = psutil.Process()
    return sum(_taken(one) for one in (process, *process.children(recursive=True))) / MB


def _taken(process: Any) -> float:
    import psutil

    try:
        return float(getattr(process.memory_full_info(), "pss", 0) or process.memory_info().rss)
    except psutil.AccessDenied:
        return float(process.memory_info().rss)
    except psutil.NoSuchProcess:  # it ended since it was listed
        return 0.0
