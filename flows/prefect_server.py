"""The Prefect server of a run: the one that ``PREFECT_API_URL`` names, or one of our own.

Our own is a single process on a free loopback port, with its files in one folder and nothing read
from the user's Prefect profile. It starts in the background, so that other services start meanwhile,
and it ends with this process, however this process ends. Nothing is ever read back from it: its
database may be deleted at any time.

This module does not import Prefect: Prefect reads the environment when it is imported.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flows import prefect_database
from flows.prefect_client import deliver, environment
from flows.prefect_process import OwnServer, places
from ocm.errors import OrchestrationError
from ocm.redaction import password_in, without_password

__all__ = ["PrefectServer", "prefect_server"]

log = logging.getLogger(__name__)

READY_SECONDS = 120.0
DELIVER_SECONDS = 20.0
ANSWER_SECONDS = 10.0
HEALTH_SECONDS = 2.0
"""For one question to a starting server: one that has died leaves it unanswered."""
POLL_SECONDS = 0.05
LOG_LINES = 15

_URL = "PREFECT_API_URL"

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
    own: OwnServer | None = None
    """None when the server is not ours."""
    _held: ExitStack = field(default_factory=ExitStack)

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Our own server's, the latest if it had to be started again."""
        return None if self.own is None else self.own.process

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
            own = OwnServer(home)
            stack.callback(own.stop)
            url = f"{own.address}/api"
            stack.enter_context(environment({**_CLIENT, **places(home), _URL: url}))
            return cls(url, home, own, stack.pop_all())

    def wait_ready(self, seconds: float = READY_SECONDS, told: Callable[[str], None] = log.warning) -> None:
        """Wait until the server answers. From then on, one of ours is started again when it dies.

        Args:
            seconds: to wait at most.
            told: of each new start, in another thread.

        Raises:
            OrchestrationError: it ended or did not answer in time; the message has its last words.
        """
        if self.own is None:
            return
        deadline = time.monotonic() + seconds
        while not _healthy(self.url, deadline - time.monotonic()):
            if self.own.process.poll() is not None:
                raise self._failed(f"ended with code {self.own.process.returncode} while starting")
            if time.monotonic() > deadline:
                raise self._failed(f"did not answer within {seconds:.0f} s")
            time.sleep(POLL_SECONDS)
        prefect_database.mark_migrated(self.home)
        self.own.supervise(told)

    def stop(self) -> None:
        """End the server, if it is ours, and restore the environment. Safe to call twice.

        What Prefect has still to tell it is told first: a client left with events for a dead server
        would try each for a minute when this process exits.
        """
        deliver(DELIVER_SECONDS)
        self._held.close()

    def _failed(self, how: str) -> OrchestrationError:
        told = self.home / "server.log"
        last = "\n".join(told.read_text("utf-8", "replace").splitlines()[-LOG_LINES:])
        return OrchestrationError(
            f"the Prefect server {how}; see {told}. Nothing needs {self.home}: delete it and try again, "
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
        with urllib.request.urlopen(f"{url}/health", timeout=min(max(seconds, POLL_SECONDS), HEALTH_SECONDS)):
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
