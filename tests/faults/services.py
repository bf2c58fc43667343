"""Servers that live beside the drivers and are killed and started again on the same port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.processes import Victim

READY_SECONDS = 120.0


@dataclass(slots=True)
class Service:
    """A server with one port, whose data outlive it."""

    kind: Victim
    command: Sequence[str]
    health: str
    """URL that answers 200 when it is ready."""
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns at once."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environ},
                cwd=self.log.parent,
                start_new_session=True,
            )

    def is_ready(self) -> bool:
        """Whether it answers now."""
        if self.process is None:
            return False
        try:
            with urllib.request.urlopen(self.health, timeout=1.0):
                return True
        except OSError:
            return False

    def wait_ready(self) -> None:
        """Wait until it answers.

        Raises:
            AssertionError: it ended or did not answer in time.
        """
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_ready():
            said = self.log.read_text("utf-8", "replace")[-2000:]
            assert self.process is not None and self.process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL to it and to all that it has started."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None


@contextmanager
def running(*services: Service) -> Iterator[None]:
    """All of them, ready, until the end of the block."""
    try:
        for service in services:
            service.start()
        for service in services:
            service.wait_ready()
        yield
    finally:
        for service in services:
            service.kill()


def mlflow_service(folder: Path) -> Service:
    """A tracking server with its database and artifacts in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    quiet = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # half of its processes, for what nobody asks here
        "DO_NOT_TRACK": "true",
    }
    health = f"http://127.0.0.1:{port}/health"
    return Service(Victim.MLFLOW, command, health, folder / "server.log", quiet)


def prefect_service(folder: Path) -> Service:
    """A Prefect server of somebody else, for ``PREFECT_API_URL``."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [sys.executable, "-P", "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    quiet = {
        "PREFECT_HOME": str(folder),
        "PREFECT_PROFILES_PATH": str(folder / "profiles.toml"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT__SERVER_FINAL": "1",
        "DO_NOT_TRACK": "true",
    }
    health = f"http://127.0.0.1:{port}/api/health"
    return Service(Victim.PREFECT, command, health, folder / "server.log", quiet)


def address(service: Service) -> str:
    """Where clients find it: the tracking URI, or Prefect's API."""
    return service.health.removesuffix("/health")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])
