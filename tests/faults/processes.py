"""The processes that belong to a driver: which are there, of which kind, and whether all are gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import psutil

GONE_SECONDS = 30.0
MARK = "OCM_FAULTS_RUN"
"""Environment variable that stands in everything that a driver starts, except for sandboxes."""


class Victim(StrEnum):
    """What is killed."""

    DRIVER = "driver"
    HOST = "host"
    VERIFIER = "verifier"
    """The Ray actor that owns a sandbox."""
    SANDBOX = "sandbox"
    """The sandbox's own process below a verifier."""
    PREFECT = "Prefect server"
    MLFLOW = "MLflow server"


SIGNS = {
    Victim.HOST: "ray::EnvHost",
    Victim.VERIFIER: "ray::SandboxActor",
    Victim.SANDBOX: "from jail.zygote import main",
    Victim.PREFECT: "prefect.server.api.server:create_app",
}
"""What stands in the command line of each that runs below a driver."""


def below(driver: int) -> list[psutil.Process]:
    """All processes below a driver; none when it is gone."""
    try:
        return psutil.Process(driver).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def victims(driver: int, kind: Victim) -> list[psutil.Process]:
    """Those of a kind below a driver, oldest first."""
    found = [one for one in below(driver) if SIGNS[kind] in command_line(one)]
    return sorted(found, key=lambda one: one.pid)


def command_line(process: psutil.Process) -> str:
    """A process's command line; empty when it is gone."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return ""


def kill(process: psutil.Process) -> bool:
    """SIGKILL; whether it was still there."""
    try:
        process.send_signal(signal.SIGKILL)  # psutil looks first whether the id has been given anew
    except psutil.NoSuchProcess:
        return False
    return True


def wait_until_gone(mark: Path, known: list[psutil.Process]) -> None:
    """Hosts, sandboxes, Ray and Prefect's server end with their driver.

    Raises:
        AssertionError: some are still there after :data:`GONE_SECONDS`.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while left := [*_marked(mark), *filter(_runs, known)]:
        assert time.monotonic() < deadline, f"still there: {[(one.pid, command_line(one)) for one in left]}"
        time.sleep(0.1)


def _marked(mark: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(mark) and _runs(process):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
