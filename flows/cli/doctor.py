"""``ocm doctor``: what this machine offers, and how to mend what it does not."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from flows.cli.options import root_option
from ocm.errors import OcmError

PACKAGES = ("prefect", "ray", "mlflow", "openai", "duckdb", "pyarrow", "plancraft")


@click.command()
@root_option
def doctor(root: Path) -> int:
    """Say what this machine offers: the sandbox's protections, packages, storage.

    The exit code is 0 when sweeps can run here.
    """
    from knowledge_store.lake.root import open_for_writing
    from knowledge_store.sandbox import Policy, probe

    click.echo(
        f"python     {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores"
    )
    for package in PACKAGES:
        click.echo(f"{package:<10} {_version(package)}")
    ready = True
    try:
        open_for_writing(root)
        free = shutil.disk_usage(root).free / 1e9
        click.echo(f"storage    {root}: writable, {free:.0f} GB free")
    except OcmError as error:
        ready = False
        click.secho(f"storage    {error}", fg="red")
    try:
        for line in probe(Policy()).describe():
            click.echo(f"sandbox    {line}")
    except OcmError as error:
        ready = False
        click.secho(f"sandbox    {error}", fg="red")
    return 0 if ready else 1


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
