"""Folders that fill up or become read-only, by the kernel itself: mounts that only the driver sees.

A process holds a user and a mount namespace of its own; that needs no rights where the kernel lets users
make namespaces. The driver is started inside, and this process reaches the mounts by ``/proc``.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BALLAST = ".ballast"
PAGE = 4096
_HOLDER = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", "echo ready; exec sleep 100000"]


@dataclass(frozen=True, slots=True)
class PrivateMounts:
    """A namespace and what is mounted in it."""

    holder: int

    @property
    def entering(self) -> tuple[str, ...]:
        """What is put before a command that is to run inside."""
        return ("nsenter", "-t", str(self.holder), "-U", "-m", "--preserve-credentials")

    def seen(self, path: Path) -> Path:
        """Where this process finds what stands at ``path`` inside."""
        return Path(f"/proc/{self.holder}/root{path.resolve()}")

    def mount(self, folder: Path, megabytes: int) -> None:
        """An empty file system of its own at ``folder``, which is made if missing."""
        self.seen(folder).mkdir(parents=True, exist_ok=True)
        self._run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))

    def fill(self, folder: Path, left: int = 0) -> None:
        """Fill a mounted folder up, but for so many pages."""
        with (self.seen(folder) / BALLAST).open("wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(PAGE))
            except OSError:
                ballast.truncate(ballast.tell() // PAGE * PAGE - left * PAGE)

    def free(self, folder: Path) -> None:
        """Take away what filled it."""
        (self.seen(folder) / BALLAST).unlink()

    def lock(self, folder: Path) -> None:
        """Make a folder read-only for everybody inside; files that are open stay as they are."""
        self._run("mount", "--bind", str(folder), str(folder))
        self._run("mount", "-o", "remount,bind,ro", str(folder))

    def unlock(self, folder: Path) -> None:
        """Make it writable again."""
        self._run("umount", "--lazy", str(folder))

    def _run(self, *command: str) -> None:
        ended = subprocess.run([*self.entering, *command], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, (command, ended.stderr)


def refusal() -> str:
    """Why there can be no such namespace here; empty if there can."""
    missing = [name for name in ("unshare", "nsenter", "mount", "umount") if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} here"
    probe = [*_HOLDER[:-2], "-c", "mount -t tmpfs tmpfs /mnt"]
    ended = subprocess.run(probe, capture_output=True, text=True, check=False)
    return ended.stderr.strip() if ended.returncode else ""


@contextmanager
def private_mounts() -> Iterator[PrivateMounts]:
    """A namespace until the end of the block; its mounts go with its last process."""
    with subprocess.Popen(_HOLDER, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield PrivateMounts(process.pid)
        finally:
            process.kill()
