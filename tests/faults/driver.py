"""``ocm run`` in a process of its own, to be killed, with its output in files that never block it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.command import CLEARED
from tests.faults.processes import MARK, below, wait_until_gone

SWEEP = "faults"
METHODS = ("ocm", "react", "asi")
"""OCM, one that only acts, and one that rehearses."""

SPEC = """
name = "faults"
methods = {methods}
seeds = [0]

[[environments]]
name = "plancraft"
task_set = "val.small"
limit = {limit}

[[backbones]]
name = "loopback"
model = "scripted-over-http"
base_url = "{url}"
api_key_env = ""
timeout = {timeout}
prices = {{ input = 1.0, output = 2.0 }}

[run]
episode_attempts = 100
environment_hosts = 3

[verification]
actors = 2
"""

OCM = ("-m", "flows.cli")


@dataclass(slots=True)
class Driver:
    """One life of ``ocm run`` on a storage root."""

    spec: Path
    root: Path
    logs: Path
    """Folder that gets its standard output and error; made if missing."""
    environ: dict[str, str] = field(default_factory=dict)
    program: Sequence[str] = OCM
    """What Python is told to run, such as a module that disturbs the command from within."""
    before: Sequence[str] = ()
    """A command before Python, such as one that enters a namespace."""
    started: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    _number: int = 0

    def start(self) -> None:
        """Start it; returns at once."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self._number += 1
        kept = {name: value for name, value in os.environ.items() if name not in CLEARED}
        command = [*self.before, sys.executable, *self.program, "run", str(self.spec)]
        command += ["--root", str(self.root), "--output", "json"]
        self.started = time.time()
        with self._log("out").open("wb") as out, self._log("err").open("wb") as err:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**kept, MARK: str(self.root), **self.environ},
                start_new_session=True,
            )

    def start_and_play(self, tries: int = 5) -> None:
        """Start it, again where the machine was too busy for Ray; returns once it plays or has ended."""
        for _ in range(tries):
            self.start()
            while self.is_running() and not self.plays():
                time.sleep(0.2)
            if self.plays() or "timed out during startup" not in self.said():
                return
            wait_until_gone(self.root, [])

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def lives(self) -> int:
        return self._number

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL, and wait until nothing that it started is left."""
        assert self.process is not None
        known = below(self.process.pid)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        wait_until_gone(self.root, known)

    def end(self) -> None:
        """Kill it if it runs still, as after a failed test."""
        if self.is_running():
            self.kill()

    def wait(self, seconds: float = 600.0) -> int:
        """Its exit code; nothing that it started is left then."""
        assert self.process is not None
        known: list[psutil.Process] = []
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the driver does not end; see {self.logs}"
            known = below(self.process.pid) or known
            time.sleep(0.5)
        wait_until_gone(self.root, known)
        return self.process.returncode

    def episodes_told(self) -> int:
        """Episodes that this life has told of so far."""
        return self._log("out").read_bytes().count(b'"event": "episode"')

    def plays(self) -> bool:
        """Whether this life has begun to play: its servers have answered."""
        return b'"event": "sweep_started"' in self._log("out").read_bytes()

    def events(self) -> list[dict[str, Any]]:
        """What this life has told, a torn last line left out."""
        lines = self._log("out").read_text("utf-8", "replace").split("\n")[:-1]
        return [json.loads(line) for line in lines if line.strip()]

    def said(self) -> str:
        """What this life has said on standard error."""
        return self._log("err").read_text("utf-8", "replace")

    def _log(self, name: str) -> Path:
        return self.logs / f"{self._number:03}.{name}"


def write_spec(
    path: Path,
    url: str,
    limit: int,
    *,
    methods: Sequence[str] = METHODS,
    timeout: float = 10.0,
    tracking: str = "",
) -> Path:
    """The spec of the sweep that is disturbed; ``tracking``: a URI, the sweep's own file by default."""
    text = SPEC.format(url=url, limit=limit, methods=json.dumps(list(methods)), timeout=timeout)
    if tracking:
        text += f'\n[tracking]\nuri = "{tracking}"\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path
