"""The ``scienceworld`` package as data: its tasks, their variations, its version and its JAR.

None of its code is imported. ``tasks.json`` holds what only the running simulator tells: the number of
train, dev and test variations of each task, in the package's order of tasks. A task's variations are
0, 1, 2, … in the order train, dev, test (tested against the simulator).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ocm.errors import EnvironmentFault

SPLITS = ("train", "dev", "test")
FIRST = ".first5"
TASK_SETS = (*(f"{split}{FIRST}" for split in SPLITS), *SPLITS)
"""``test.first5``: the first five test variations of each task, 149 in all."""


class Task(NamedTuple):
    """One of the 30 tasks."""

    id: str
    """The paper's number, such as ``1-1``."""
    name: str
    train: int
    """Number of variations in this split; likewise below."""
    dev: int
    test: int

    @property
    def electrical(self) -> bool:
        """Whether it needs ``connect`` and ``disconnect`` (the package's own test)."""
        return "power-component" in self.name or "conductivity" in self.name

    def variations(self, task_set: str) -> range:
        """The variations of one of :data:`TASK_SETS`, ascending."""
        counts = (self.train, self.dev, self.test)
        index = SPLITS.index(task_set.removesuffix(FIRST))
        start = sum(counts[:index])
        count = min(counts[index], 5) if task_set.endswith(FIRST) else counts[index]
        return range(start, start + count)


def package_version() -> str:
    """The installed package's version."""
    return version("scienceworld")


@cache
def tasks() -> Mapping[str, Task]:
    """The 30 tasks by name, in the package's order."""
    rows = json.loads((files("envs.scienceworld") / "tasks.json").read_text("utf-8"))
    return {row["name"]: Task(**row) for row in rows}


@cache
def jar() -> Path:
    """The simulator.

    Raises:
        EnvironmentFault: the package is not installed.
    """
    found = find_spec("scienceworld")
    if found is None or not found.submodule_search_locations:
        raise EnvironmentFault("the package scienceworld is not installed; run: pip install scienceworld")
    return Path(found.submodule_search_locations[0]) / "scienceworld.jar"
