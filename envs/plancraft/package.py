"""The ``plancraft`` package as data: examples, recipes, tags and stack sizes from its JSON files.

None of the package's code is imported: any of its modules loads pictures and PIL (0.7 s), while the
files alone decide what can be crafted. That our rules agree with the package's own is tested
(``tests/envs/plancraft_replay.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ocm.errors import EnvironmentFault

TASK_SETS = ("train", "val", "val.small", "test", "test.small")


class Stack(NamedTuple):
    """A number of equal items in one slot."""

    item: str
    quantity: int


class Example(NamedTuple):
    """One task of the benchmark."""

    id: str
    stratum: str
    """``complexity_split``: easy, medium, hard or impossible. Every task set has it."""
    target: str
    impossible: bool
    slots: Mapping[int, Stack]
    """What lies where at the start; keys are slot indexes (:mod:`envs.plancraft.slots`)."""


def package_version() -> str:
    """The installed package's version."""
    return version("plancraft")


@cache
def examples(task_set: str) -> Mapping[str, Example]:
    """The examples of a task set by id, in the benchmark's order."""
    rows = json.loads((_folder() / "data" / f"{task_set}.json").read_text("utf-8"))
    return {row["id"]: _example(row) for row in rows}


def recipe_files() -> Iterator[Mapping[str, Any]]:
    """The recipe files of the game, in the order of their names."""
    for path in sorted((_folder() / "environment" / "recipes").glob("*.json")):
        yield json.loads(path.read_text("utf-8"))


@cache
def tags() -> Mapping[str, tuple[str, ...]]:
    """Names that stand for several items, such as ``planks``; a member may be a ``#tag`` itself."""
    paths = (_folder() / "environment" / "tags").glob("*.json")
    return {path.stem: tuple(json.loads(path.read_text("utf-8"))["values"]) for path in paths}


@cache
def stack_sizes() -> Mapping[str, int]:
    """The largest number of equal items in one slot, by item."""
    path = _folder() / "environment" / "assets" / "constants.json"
    items = json.loads(path.read_text("utf-8"))["items"]
    return {item["type"]: item["stackSize"] if item["stackable"] else 1 for item in items}


@cache
def _folder() -> Path:
    found = find_spec("plancraft")
    if found is None or not found.submodule_search_locations:
        raise EnvironmentFault("the package plancraft is not installed; run: pip install plancraft")
    return Path(found.submodule_search_locations[0])


def _example(row: Mapping[str, Any]) -> Example:
    slotted = row["slotted_inventory"]
    if isinstance(slotted, str):
        slotted = json.loads(slotted)
    return Example(
        id=row["id"],
        stratum=row["complexity_split"],
        target=row["target"],
        impossible=row["impossible"],
        slots={int(slot): Stack(held["type"], int(held["quantity"])) for slot, held in slotted.items()},
    )
