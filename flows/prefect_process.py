"""The process of a Prefect server of our own, and its successors when it dies.

This process keeps the listening socket for as long as it wants a server: nobody can take the port, the
address stays the same, and while no server is there, connections wait for the next one instead of being
refused. A client of the sweep thus meets a slow answer, or at most a broken connection, which it tries again.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from flows.attached import attached
from ocm.redaction import without_secrets

RESTARTS = 5
"""A server that dies more often is left dead: the sweep does not need it."""
FIRST_PAUSE = 0.5
"""Seconds before the first new start; each later pause is twice as long."""
STOP_SECONDS = 10.0

_SERVER = {
    "DO_NOT_TRACK": "true",
    "PREFECT__SERVER_FINAL": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    # Services for schedules, workers and automations: a quarter of the server's work per task run.
    **{
        f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false"
        for service in (
            "CANCELLATION_CLEANUP",
            "CLEANUP_RECONCILER",
            "EVENT_PERSISTER",
            "FOREMAN",
            "LATE_RUNS",
            "PAUSE_EXPIRATIONS",
            "REPOSSESSOR",
            "SCHEDULER",
            "TRIGGERS",
        )
    },
}


class OwnServer:
    """A server on a port of its own; call :meth:`stop` at the end."""

    def __init__(self, home: Path) -> None:
        """Start it, in the main thread: a server dies with the thread that started it.

        Raises:
            OSError: no port can be bound, or ``home`` cannot be written.
        """
        self.home = home
        self._bound = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"http://127.0.0.1:{self._bound.getsockname()[1]}"
        self.restarts = 0
        """How often a dead server was followed by a new one."""
        self._over = threading.Event()
        self._change = threading.Lock()
        self._supervisor: threading.Thread | None = None
        (home / "server.log").write_bytes(b"")
        self.process = self._spawn()

    def supervise(self, told: Callable[[str], None]) -> None:
        """From now on start the server again when it dies; ``told`` is called in another thread."""
        self._supervisor = threading.Thread(
            target=self._keep_alive, args=(told,), name="prefect-server", daemon=True
        )
        self._supervisor.start()

    def stop(self) -> None:
        """End it and give up its port. Safe to call twice."""
        with self._change:
            self._over.set()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self._supervisor is not None:
            self._supervisor.join()
        self._bound.close()

    def _keep_alive(self, told: Callable[[str], None]) -> None:
        """Ends with the server that it started last, as that one would end with it."""
        while True:
            code = self.process.wait()
            if self._over.is_set():
                return
            if self.restarts >= RESTARTS:
                told(
                    f"the Prefect server ended with code {code} again and is left alone; the sweep goes on "
                    f"without its pages. See {self.home / 'server.log'}"
                )
                self._bound.close()  # no client is to wait for an answer that never comes
                return
            pause = FIRST_PAUSE * 2**self.restarts
            self.restarts += 1
            told(
                f"the Prefect server ended with code {code}; start {self.restarts} of {RESTARTS} follows, "
                "and the sweep goes on meanwhile"
            )
            if self._over.wait(pause) or not self._start_again():
                return

    def _start_again(self) -> bool:
        with self._change:
            if not self._over.is_set():
                self.process = self._spawn()
            return not self._over.is_set()

    def _spawn(self) -> subprocess.Popen[bytes]:
        app = ["--factory", "prefect.server.api.server:create_app", "--fd", str(self._bound.fileno())]
        limits = ["--log-level", "warning", "--lifespan", "on", "--timeout-graceful-shutdown", "3"]
        with (self.home / "server.log").open("ab") as log:
            return subprocess.Popen(
                attached([sys.executable, "-P", "-m", "uvicorn", *app, *limits]),
                env={
                    **_foreign(),
                    **_SERVER,
                    **places(self.home),
                    "PREFECT_UI_API_URL": f"{self.address}/api",
                },
                cwd=self.home,  # Prefect reads .env, prefect.toml and pyproject.toml where it is started
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[self._bound.fileno()],
                start_new_session=True,  # Ctrl-C is for the sweep, which stops the server when it is done
            )


def places(home: Path) -> dict[str, str]:
    """Where Prefect keeps its files, instead of the user's home folder."""
    return {"PREFECT_HOME": str(home), "PREFECT_PROFILES_PATH": str(home / "profiles.toml")}


def _foreign() -> dict[str, str]:
    """This process's environment without any Prefect setting, and without secrets."""
    return {
        name: value for name, value in without_secrets(os.environ).items() if not name.startswith("PREFECT_")
    }
