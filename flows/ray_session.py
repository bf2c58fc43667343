"""Ray for one process: a small local cluster of its own, or the one that ``RAY_ADDRESS`` names.

Ray is called directly, not through Prefect's task runner: results live in the lake, and a Ray task
that Prefect believes finished must never run again.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import uuid
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from flows.watchdog import claimed, watched
from ocm.errors import OrchestrationError
from ocm.redaction import without_secrets

OBJECT_STORE_BYTES = 80 * 1024 * 1024
"""Near Ray's minimum: only observations, code and verdicts travel."""
ANSWER_SECONDS = 10.0

_TAKEN = (signal.SIGCHLD, signal.SIGTERM)
"""Ray takes these signals in this process too: with the reaping below no exit code could be read any more,
and a request to end would abort the process with a stack of C++."""

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # An actor that is killed takes what it started with it, as far as that stayed in its process group;
    # what did not must end when its pipes close. The watchdog ends the rest with the session.
    "RAY_process_group_cleanup_enabled": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Hosts that take no core are meant. Ray would tell so on standard output, in the middle of JSON lines.
    "RAY_DEDUP_LOGS_SKIP_REGEX": "worker processes have been started on node",
}


def is_local() -> bool:
    """Whether the cluster is this process's own, on this machine."""
    return os.environ.get("RAY_ADDRESS", "") in ("", "local")


@contextmanager
def without_secrets_around(names: Collection[str] = ()) -> Iterator[None]:
    """While it is open, this process's environment, and what is started in it for good, has no secrets.

    ``names``: variables that hold secrets though their names do not say so. Other threads see it too: none
    of them may be about to look for a secret.
    """
    kept = without_secrets(os.environ, names)
    hidden = {name: value for name, value in os.environ.items() if name not in kept}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


@contextmanager
def ray_session(secrets: Collection[str] = ()) -> Iterator[None]:
    """Connect, and disconnect at the end. A local cluster ends with this process, however it ends, and with
    it all that its actors have started.

    Neither hosts nor sandboxes need a key, so a local cluster never gets one: Ray hands the environment in
    which it is started to all that it starts. ``secrets``: names of variables that hold keys, beside those
    whose names say so.

    Raises:
        OrchestrationError: Ray cannot be started or reached.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    mark = uuid.uuid4().hex
    with ExitStack() as stack:
        with without_secrets_around(secrets):
            dog = stack.enter_context(watched(mark)) if is_local() else None
            with claimed(dog, mark), _apart():
                _connect()
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _apart() -> Iterator[None]:
    """What Ray starts is in a process group of its own: a terminal that goes away, or a Prefect worker that
    ends a flow run, signals this process's whole group, and the chains need Ray to end at a safe point.

    Uses Ray's internals: it offers no way to say so.
    """
    services: Any = importlib.import_module("ray._private.services")
    plain: Any = services.ConsolePopen

    class Apart(plain):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{"process_group": 0, **options})

    services.ConsolePopen = Apart
    try:
        yield
    finally:
        services.ConsolePopen = plain


def _connect() -> None:
    import ray

    address = None if is_local() else os.environ["RAY_ADDRESS"]
    before = {number: signal.getsignal(number) for number in _TAKEN}
    try:
        if address:
            check_answers(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(
                address="local",  # without it, Ray joins a cluster of ``ray start``, dead or alive
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except Exception as error:  # what Ray raises when its node is not up within 30 s is of no other kind
        where = f"the Ray cluster at {address}" if address else "a local Ray cluster"
        own = (
            "give the same command again if this machine was busy; HOME and TMPDIR must name folders "
            "that can be written; Ray's logs are under /tmp/ray"
        )
        mend = "check RAY_ADDRESS, or unset it" if address else own
        raise OrchestrationError(f"cannot start {where}: {error}; {mend}") from error
    for number, handler in before.items():
        signal.signal(number, handler)


def check_answers(address: str) -> None:
    """Ray itself would try a dead address for minutes. ``auto`` and the like name no port.

    Raises:
        OSError, ValueError: nothing listens there, or it is no address.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.hostname and parts.port:
        socket.create_connection((parts.hostname, parts.port), ANSWER_SECONDS).close()
