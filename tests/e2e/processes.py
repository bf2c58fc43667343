"""What a driver has started, and whether it is gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil

MARK = "OCM_TEST_ROOT"
"""Give it to a command, with the storage root as its value: all that it starts inherits it."""
GONE_SECONDS = 15.0


def wait_until_nothing_is_left(root: Path) -> None:
    """Hosts, sandboxes, Ray and Prefect's server end with their driver."""
    deadline = time.monotonic() + GONE_SECONDS
    while left := [line for line in map(_command_line, of_driver(root)) if line]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def of_driver(root: Path) -> Iterator[psutil.Process]:
    """Processes that inherited the driver's environment; a sandbox has none, and ends with its owner."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(root):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def prefect_server(root: Path) -> psutil.Process:
    """The server of a running driver."""
    while True:
        for process in of_driver(root):
            if "prefect.server" in _command_line(process) and "uvicorn" in _command_line(process):
                return process
        time.sleep(0.05)


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""
