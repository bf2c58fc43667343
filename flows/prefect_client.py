"""Prefect in this process: the environment that it reads, and the end of its senders.

This module does not import Prefect: Prefect reads the environment when it is imported.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

log = logging.getLogger(__name__)


def deliver(seconds: float) -> None:
    """Let Prefect's senders of events and logs finish, and give up on what they cannot deliver.

    Uses Prefect's internals: it offers no public way to end its senders.
    """
    module = sys.modules.get("prefect._internal.concurrency.services")
    if module is None:
        return
    senders = [(one, one._loop, one._task) for one in module.QueueService._instances.values()]
    if not senders:
        return
    # In a thread of its own, since in one with an event loop the call would return a coroutine.
    with ThreadPoolExecutor(1) as thread:
        _, late = thread.submit(module.QueueService.drain_all, timeout=seconds).result()
    if late:
        log.warning("the Prefect server did not take the last events; its pages may show runs unfinished")
    for _, loop, task in senders:
        if late and task is not None:
            loop.call_soon_threadsafe(task.cancel)


@contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """Set variables, and leave out the user's profile, which is not in our profiles file."""
    names = [*wanted, "PREFECT_PROFILE"]
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ.update(wanted)
    _let_prefect_see_it()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        _let_prefect_see_it()


def _let_prefect_see_it() -> None:
    """Where Prefect has been imported already, make it read the environment again."""
    if context := sys.modules.get("prefect.context"):
        context.refresh_global_settings_context()
