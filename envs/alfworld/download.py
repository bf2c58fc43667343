"""Fetch the benchmark's archive with the package's own downloader.

Its command, ``alfworld-download``, also fetches what only the simulator with pictures needs, some hundred
megabytes; so its function is called for the archive of the text games alone. It shows its progress, and goes
on where an interrupted download ended.
"""

from __future__ import annotations

import runpy
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from envs.alfworld.package import NOT_INSTALLED, without_traces
from ocm.errors import EnvironmentFault, SpecError

_COMMAND = "alfworld-download"
_ADDRESS = "TW_PDDL_FILES_URL"


def download(folder: Path) -> Path:
    """The archive of all text games, fetched into a folder.

    Raises:
        SpecError: ALFWorld is not installed.
        EnvironmentFault: the archive cannot be fetched.
    """
    script = _script()
    try:
        return Path(script["download"](script[_ADDRESS], dst=str(folder)))
    except OSError as error:  # those of requests are of this kind too
        raise EnvironmentFault(
            f"ALFWorld's data set cannot be fetched: {error}. Without internet, get {script[_ADDRESS]} "
            "elsewhere and give it: ocm data alfworld FILE"
        ) from error


def _script() -> dict[str, Any]:
    try:
        listed = distribution("alfworld").files or ()
    except PackageNotFoundError:
        raise SpecError(NOT_INSTALLED) from None
    paths = [Path(str(file.locate())) for file in listed if file.name == _COMMAND]
    if not paths:
        raise SpecError(f"{_COMMAND} is missing; {NOT_INSTALLED}")
    with without_traces():
        return runpy.run_path(str(paths[0]), run_name="alfworld_download")
