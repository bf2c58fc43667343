"""The ``alfworld`` package as data: its version, its domain and its grammar. None of its code is imported.

Importing it takes two seconds, makes a folder in the user's home and sets ``ALFWORLD_DATA``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ocm.errors import SpecError

NOT_INSTALLED = (
    "ALFWorld is not installed; run: pip install 'ocm-at-scale[alfworld]' "
    "(compiles for about four minutes; needs gcc, g++, make and cmake)"
)


def package_version() -> str:
    """The installed package's version.

    Raises:
        SpecError: the package, or the engine that it needs, is not installed.
    """
    if find_spec("textworld") is None or find_spec("fast_downward") is None:
        raise SpecError(NOT_INSTALLED)
    try:
        return version("alfworld")
    except PackageNotFoundError:
        raise SpecError(NOT_INSTALLED) from None


@cache
def domain() -> str:
    """What can be done in any ALFWorld game, in PDDL.

    Raises:
        SpecError: the package is not installed.
    """
    return _data_file("alfred.pddl")


@cache
def grammar() -> str:
    """What is said in any ALFWorld game; ``UNKNOWN GOAL`` stands for the task.

    Raises:
        SpecError: the package is not installed.
    """
    return _data_file("alfred.twl2")


@contextmanager
def without_traces() -> Iterator[None]:
    """For importing ``alfworld``, which makes the folder that ``ALFWORLD_DATA`` names, and sets it."""
    before = os.environ.get("ALFWORLD_DATA")
    os.environ["ALFWORLD_DATA"] = tempfile.gettempdir()
    try:
        yield
    finally:
        del os.environ["ALFWORLD_DATA"]
        if before is not None:
            os.environ["ALFWORLD_DATA"] = before


def _data_file(name: str) -> str:
    found = find_spec("alfworld")
    if found is None or not found.submodule_search_locations:
        raise SpecError(NOT_INSTALLED)
    return (Path(found.submodule_search_locations[0]) / "data" / name).read_text("utf-8")
