"""``python -m tests.sandbox.ordinary``: give up root for good, then be a cell.

The interpreter, or this project, may lie where only root can enter. In a mount namespace of its own, the
first folder on the way that others may not enter is then covered by an empty one, in which nothing but
what is needed is mounted again, under its old path.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
USER = 54321
"""Nobody's: no file belongs to it."""
NEW_MOUNT, PRIVATE, RECURSIVE, BIND = 0x00020000, 1 << 18, 16384, 4096
LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Replace this process by a cell of an ordinary user, or say why that cannot be."""
    try:
        open_the_way([Path(sys.base_prefix), Path(sys.prefix), ROOT])
    except OSError as error:
        json.dump({"skip": f"no ordinary user can be had here: {error}"}, sys.stdout)
        return
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.execv(sys.executable, [sys.executable, "-B", "-m", "tests.sandbox.cell"])


def open_the_way(needed: Iterable[Path]) -> None:
    """Let others reach these folders, in this process and its descendants only. Raises ``OSError``."""
    hidden = {path: door for path in needed if (door := _closed_door(path))}
    if not hidden:
        return
    _require(LIBC.unshare(NEW_MOUNT), "unshare(CLONE_NEWNS)")
    _mount(None, "/", None, PRIVATE | RECURSIVE, None)
    inside = {path: os.open(path, os.O_PATH) for path in hidden}
    for door in sorted(set(hidden.values())):
        _mount("none", str(door), "tmpfs", 0, "mode=755")
    for path, descriptor in inside.items():
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", str(path), None, BIND | RECURSIVE, None)
        os.close(descriptor)


def _closed_door(path: Path) -> Path | None:
    """The first folder on the way that others may not enter."""
    way = [*reversed(path.parents), path]
    return next((one for one in way if not one.stat().st_mode & stat.S_IXOTH), None)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None) -> None:
    texts = [text and text.encode() for text in (source, target, kind, data)]
    result = LIBC.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    _require(result, f"mount {target}")


def _require(result: int, what: str) -> None:
    if result < 0:
        raise OSError(f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
