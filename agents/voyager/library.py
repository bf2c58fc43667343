"""The stored programs as files: which there are, which fit a goal, which go when there are too many."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable, Mapping

from agents.retrieval import most_similar
from agents.skills.source import RESERVED, called_names
from knowledge_store.errors import PathError
from knowledge_store.memory import check_path
from ocm.types import Files

INDEX = "skills.json"


def skill_path(name: str) -> str:
    """The file of a program."""
    return f"skills/{name}.py"


def descriptions_in(memory: Files) -> dict[str, str]:
    """Program -> description; the one that was not used for longest comes first."""
    found: dict[str, str] = json.loads(memory.get(INDEX, "{}"))
    return found


def fitting(memory: Files, goal: str, k: int) -> list[str]:
    """The programs whose descriptions fit a goal best, the best first."""
    described = descriptions_in(memory)
    texts = [f"{name} {text}" for name, text in described.items()]
    names = list(described)
    return [names[one.index] for one in most_similar(goal, texts, k)] if texts else []


def needed(code: str, memory: Files) -> dict[str, str]:
    """Name -> source of all stored programs that the code calls, directly or through others."""
    stored = descriptions_in(memory)
    found: dict[str, str] = {}
    waiting = called_names(code) & stored.keys()
    while waiting:
        name = min(waiting)
        found[name] = memory[skill_path(name)]
        waiting |= called_names(found[name]) & stored.keys()
        waiting -= found.keys()
    return dict(sorted(found.items()))


def name_problem(name: str) -> str:
    """Why a program cannot be kept under a name; empty where it can."""
    if name in RESERVED or hasattr(builtins, name):
        return f"{name} does not say what the program does"
    try:
        check_path(skill_path(name))
    except PathError:
        return "the program's name cannot be a file's"
    return ""


def used(memory: Files, names: Iterable[str]) -> dict[str, str]:
    """The memory after these programs were used."""
    described = descriptions_in(memory)
    for name in names:
        described[name] = described.pop(name)
    return _with_index(memory, described)


def stored(memory: Files, name: str, source: str, description: str, most: int) -> dict[str, str]:
    """The memory with one more program, or a newer one of this name.

    Past the bound the program that was not used for longest goes, of those that no other one calls.
    """
    files = {**memory, skill_path(name): source}
    described = descriptions_in(memory)
    described.pop(name, None)
    while len(described) >= most:
        old = _least_needed(files, described)
        del described[old], files[skill_path(old)]
    return _with_index(files, {**described, name: description})


def _least_needed(files: Files, described: Mapping[str, str]) -> str:
    called = {other for name in described for other in called_names(files[skill_path(name)]) if other != name}
    return next((name for name in described if name not in called), next(iter(described)))


def _with_index(files: Files, described: Mapping[str, str]) -> dict[str, str]:
    return {**files, INDEX: f"{json.dumps(described, indent=2, ensure_ascii=False)}\n"}
