"""The Prefect server of a run: the one that ``PREFECT_API_URL`` names, or one of our own.

Our own is a single process on a free loopback port, with its files in one folder and nothing read
from the user's Prefect profile. It starts in the background, so that other services start meanwhile,
and it ends with this process, however this process ends. Nothing is ever read back from it: its
database may be deleted at any time.

This module does not import Prefect: Prefect reads the environment when it is imported.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flows import prefect_database
from flows.attached import attached
from flows.prefect_client import deliver, environment
from ocm.errors import OrchestrationError
from ocm.redaction import password_in, without_password, without_secrets

__all__ = ["PrefectServer", "prefect_server"]

READY_SECONDS = 120.0
STOP_SECONDS = 10.0
DELIVER_SECONDS = 20.0
ANSWER_SECONDS = 10.0
POLL_SECONDS = 0.05
LOG_LINES = 15

_URL = "PREFECT_API_URL"

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

_CLIENT = {
    # The server is of this very version, without CSRF tokens: do not ask it once per client.
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
}


@dataclass(slots=True)
class PrefectServer:
    """A server that this process may use between :meth:`wait_ready` and :meth:`stop`."""

    url: str
    """Of the API, such as ``http://127.0.0.1:43211/api``."""
    home: Path
    process: subprocess.Popen[bytes] | None = None
    """None when the server is not ours."""
    _held: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def start(cls, home: Path) -> PrefectServer:
        """Start a server of our own with its files in ``home``, unless ``PREFECT_API_URL`` is set.

        Returns at once, or when a server that is not ours has answered. Sets what Prefect needs in
        ``os.environ``. Call it in the main thread: the server dies with the thread that started it.

        Raises:
            OrchestrationError: ``home`` is not writable, another process has its server there, or the
                server that ``PREFECT_API_URL`` names does not answer.
        """
        if url := os.environ.get(_URL):
            _check_answers(url.rstrip("/"))
            return cls(url.rstrip("/"), home)
        home = home.resolve()
        with ExitStack() as stack:
            _hold(home, stack)
            prefect_database.seed(home)
            process, url = _spawn(home)
            stack.enter_context(environment({**_CLIENT, **_places(home), _URL: url}))
            return cls(url, home, process, stack.pop_all())

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until the server answers.

        Raises:
            OrchestrationError: it ended or did not answer in time; the message has its last words.
        """
        if self.process is None:
            return
        deadline = time.monotonic() + seconds
        while not _healthy(self.url, deadline - time.monotonic()):
            if self.process.poll() is not None:
                raise self._failed(f"ended with code {self.process.returncode} while starting")
            if time.monotonic() > deadline:
                raise self._failed(f"did not answer within {seconds:.0f} s")
            time.sleep(POLL_SECONDS)
        prefect_database.mark_migrated(self.home)

    def stop(self) -> None:
        """End the server, if it is ours, and restore the environment. Safe to call twice.

        What Prefect has still to tell it is told first: a client left with events for a dead server
        would try each for a minute when this process exits.
        """
        deliver(DELIVER_SECONDS)
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._held.close()

    def _failed(self, how: str) -> OrchestrationError:
        log = self.home / "server.log"
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-LOG_LINES:])
        return OrchestrationError(
            f"the Prefect server {how}; see {log}. Nothing needs {self.home}: delete it and try again, "
            f"or start a server yourself (prefect server start) and set {_URL}. Its last lines:\n"
            f"{last or '(none)'}"
        )


@contextmanager
def prefect_server(home: Path) -> Iterator[str]:
    """The API's address of a server that answers; see :class:`PrefectServer` for the rest."""
    server = PrefectServer.start(home)
    try:
        server.wait_ready()
        yield server.url
    finally:
        server.stop()


# --- our own process ---------------------------------------------------------------------------


def _spawn(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start the server on a port that is already bound, so that nobody can take it in between."""
    with closing(socket.create_server(("127.0.0.1", 0))) as bound, (home / "server.log").open("wb") as log:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        app = ["--factory", "prefect.server.api.server:create_app", "--fd", str(bound.fileno())]
        limits = ["--log-level", "warning", "--lifespan", "on", "--timeout-graceful-shutdown", "3"]
        process = subprocess.Popen(
            attached([sys.executable, "-P", "-m", "uvicorn", *app, *limits]),
            env={**_foreign(), **_SERVER, **_places(home), "PREFECT_UI_API_URL": f"{url}/api"},
            cwd=home,  # Prefect reads .env, prefect.toml and pyproject.toml where it is started
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[bound.fileno()],
            start_new_session=True,  # Ctrl-C is for the sweep, which stops the server when it is done
        )
    return process, f"{url}/api"


def _foreign() -> dict[str, str]:
    """This process's environment without any Prefect setting, and without secrets."""
    return {
        name: value for name, value in without_secrets(os.environ).items() if not name.startswith("PREFECT_")
    }


def _places(home: Path) -> dict[str, str]:
    return {"PREFECT_HOME": str(home), "PREFECT_PROFILES_PATH": str(home / "profiles.toml")}


def _hold(home: Path, stack: ExitStack) -> None:
    """Keep other processes' servers out of ``home`` as long as ``stack`` is open."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = stack.enter_context((home / "server.lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OrchestrationError(
            f"{home}: another process has its Prefect server there; wait for it to end, "
            f"or set {_URL} to a server that both may use"
        ) from None
    except OSError as error:
        raise OrchestrationError(f"{home}: {error.strerror}; choose another storage root") from error


# --- asking a server ---------------------------------------------------------------------------


def _healthy(url: str, seconds: float) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=min(max(seconds, POLL_SECONDS), ANSWER_SECONDS)):
            return True
    except OSError:  # refused or reset while it starts or dies: the caller looks at the process
        return False


def _check_answers(url: str) -> None:
    """A refusal is an answer: Prefect itself sends the user's credentials later."""
    mend = f"start it, correct {_URL}, or unset {_URL} to let each run start its own"
    if password_in(url) is not None:
        raise OrchestrationError(
            f"{_URL}={without_password(url)} has a password; leave it out and set PREFECT_API_AUTH_STRING to "
            "user:password"
        )
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=ANSWER_SECONDS):
            return
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return
        raise OrchestrationError(f"{_URL}={url} answers {error.code} {error.reason}; {mend}") from error
    except (OSError, ValueError) as error:
        raise OrchestrationError(f"{_URL}={url} does not answer: {error}; {mend}") from error
