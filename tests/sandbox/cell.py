"""One cell of the matrix, as a process of its own: ``python -m tests.sandbox.cell``, a job on its input.

The job says which attacks run under which policy. The process owns the sandbox and what the attacks aim
at: a key in its environment, a file that all may write, a port, a process. It prints, as JSON, the
verdicts and what became of these.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge_store.sandbox import Policy, Sandbox
from ocm.errors import SandboxError
from ocm.types import Verdict
from tests.sandbox.hostile import ATTACKS, OBJECTS
from tests.sandbox.hostile.chance import UNBOUND
from tests.sandbox.hostile.forging import LIES

GOOD = "from objects import Box\nassert Box(1).add(2) == 3\n"
LIMITS: dict[str, Any] = {"wall_seconds": 10.0, "cpu_seconds": 1, "memory_mb": 64}
CONTENT = "untouched"


def main() -> None:
    """Play the job, print the result."""
    json.dump(play(json.load(sys.stdin)), sys.stdout)


def play(job: Mapping[str, Any]) -> dict[str, Any]:
    """``job``: ``names``, ``disabled`` layers, ``degraded``, and ``role``: ``procedure`` or ``objects``."""
    policy = Policy(**LIMITS, disabled_layers=tuple(job["disabled"]), allow_degraded=job["degraded"])
    with tempfile.TemporaryDirectory(prefix="hostile") as folder, bystanders(Path(folder)) as outside:
        sources = {name: outside.aimed(source) for name, source in _sources(job["names"]).items()}
        try:
            sandbox = Sandbox(policy)
        except SandboxError as error:
            return {"refused": error.message}
        with sandbox:
            run = _as_objects if job["role"] == "objects" else _as_procedures
            verdicts = run(sandbox, sources)
            after = sandbox.verify(OBJECTS, {"procedures/after.py": GOOD})
        return {
            "user": os.getuid(),
            "tier": str(sandbox.protections.tier),
            "clones": sandbox.clones,
            "missing": [layer.name for layer in sandbox.protections.layers if not layer.active],
            "verdicts": verdicts,
            "after": [asdict(verdict) for verdict in after],
            "changed": outside.changed(),
        }


def _sources(names: list[str]) -> dict[str, str]:
    more = {f"lies.{name}": source for name, source in LIES.items()}
    more |= {f"unbound.{name}": attack.source for name, attack in UNBOUND.items()}
    return {name: more.get(name) or ATTACKS[name].source for name in names}


def _as_procedures(sandbox: Sandbox, sources: Mapping[str, str]) -> dict[str, Any]:
    """All in one batch, good procedures between them."""
    files = {f"procedures/{name}.py": source for name, source in sources.items()}
    files |= {f"procedures/{place}_good.py": GOOD for place in ("a", "m", "z")}
    return {_name(verdict): asdict(verdict) for verdict in sandbox.verify(OBJECTS, files)}


def _name(verdict: Verdict) -> str:
    return verdict.path.removeprefix("procedures/").removesuffix(".py")


def _as_objects(sandbox: Sandbox, sources: Mapping[str, str]) -> dict[str, Any]:
    """Each as the K_o of a candidate of its own, behind the classes that are K_o elsewhere."""
    verdicts = {}
    for name, source in sources.items():
        found = sandbox.verify(
            f"{OBJECTS}\n{source}", {"procedures/good.py": GOOD, "procedures/bad.py": "1/0"}
        )
        verdicts[name] = asdict(found[0])
    return verdicts


class Outside:
    """What the attacks aim at."""

    def __init__(self, file: Path, listener: socket.socket, bystander: int) -> None:
        self._file = file
        self._listener = listener
        self._bystander = bystander
        self._state = self._look()

    def aimed(self, source: str) -> str:
        """The source with its targets."""
        targets = {
            "$FILE": str(self._file),
            "$PORT": str(self._listener.getsockname()[1]),
            "$PID": str(self._bystander),
            "$OWNER": str(os.getpid()),
        }
        for name, value in targets.items():
            source = source.replace(name, value)
        return source

    def changed(self) -> list[str]:
        """What is not as it was; nothing, where all attacks were contained."""
        found = [name for name, value in self._look().items() if value != self._state[name]]
        try:
            self._listener.accept()
            found.append("port")
        except BlockingIOError:
            pass
        return found

    def _look(self) -> dict[str, Any]:
        about = self._file.stat() if self._file.exists() else None
        left = Path("/tmp"), Path("/dev/shm")
        return {
            "file": about and (about.st_mode, about.st_mtime, self._file.read_text()),
            "folder": sorted(os.listdir(self._file.parent)),  # noqa: PTH208 -- names
            "left": [str(place) for place in left if (place / "for-the-next").exists()],
            "bystander": os.waitpid(self._bystander, os.WNOHANG | os.WUNTRACED),
            "priority": os.getpriority(os.PRIO_PROCESS, self._bystander),
        }


@contextmanager
def bystanders(folder: Path) -> Iterator[Outside]:
    """A file, a port and a process, for as long as the attacks run."""
    folder.chmod(0o777)
    file = folder / "file"
    file.write_text(CONTENT)
    file.chmod(0o666)
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            yield Outside(file, listener, child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
