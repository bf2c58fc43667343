"""``ocm doctor``: what this machine offers, and how to mend what it does not."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from flows.cli.options import root_option
from ocm.errors import EnvironmentFault, OcmError

PACKAGES = ("prefect", "ray", "mlflow", "openai", "duckdb", "pyarrow")
JAVA_SECONDS = 30.0
"""Java says its version within one, on a busy machine in some."""


@click.command()
@root_option
def doctor(root: Path) -> int:
    """Say what this machine offers: the sandbox's protections, packages, storage, environments.

    The exit code is 0 when sweeps can run here.
    """
    from knowledge_store.lake.root import open_for_writing
    from knowledge_store.sandbox import Policy, probe

    _tell(
        "python",
        f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )
    for package in PACKAGES:
        _tell(package, _version(package))
    ready = True
    try:
        open_for_writing(root)
        free = shutil.disk_usage(root).free / 1e9
        _tell("storage", f"{root}: writable, {free:.0f} GB free")
    except OcmError as error:
        ready = False
        _tell("storage", str(error), "red")
    try:
        for line in probe(Policy()).describe():
            _tell("sandbox", line)
    except OcmError as error:
        ready = False
        _tell("sandbox", str(error), "red")
    _tell_environments()
    return 0 if ready else 1


def _tell_environments() -> None:
    """Memory, Java, and each environment; one that cannot be played does not hinder the others."""
    from envs import registry
    from envs.capacity import hosts_here
    from envs.memory import available_mb

    available = available_mb()
    _tell("memory", f"{available:.0f} MB available")
    try:
        _tell("java", java_version())
    except OcmError as error:
        _tell("java", str(error), "yellow")
    for entry in registry.ENVIRONMENTS.values():
        try:
            world = registry.create(entry.name, {})
            count = len(world.tasks(entry.default_task_set))
            world.close()
        except OcmError as error:
            _tell(entry.name, str(error), "yellow")
            continue
        hosts = hosts_here(entry, os.cpu_count() or 1, available)
        fit = (
            f"{hosts} hosts of {entry.memory_mb} MB fit"
            if hosts
            else f"too little memory: {entry.memory_mb} MB"
        )
        told = f"{world.version}, {count} tasks in {entry.default_task_set}, {fit}"
        _tell(entry.name, told, None if hosts else "yellow")


def java_version() -> str:
    """The Java that ScienceWorld would use: its path and what it says of itself.

    Raises:
        EnvironmentFault: there is none, or it does not start.
    """
    from envs.scienceworld.jvm import java, java_environment

    path = java()
    try:
        ended = subprocess.run(
            [path, "-version"], capture_output=True, env=java_environment(), timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"{path} does not start: {error}; mend it or take it off PATH") from error
    said = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or "nothing"
    if ended.returncode:
        raise EnvironmentFault(f"{path} does not start, saying {said!r}; mend it or take it off PATH")
    return f"{path}: {said}"


def _tell(what: str, text: str, color: str | None = None) -> None:
    click.secho(f"{what:<12} {text}", fg=color)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
