"""Prompts as text files that a researcher can read and edit; ``$name`` marks what is filled in.

This folder holds the texts that all methods share; a method's own lie in ``agents/<method>/prompts``.
A chain's identity includes the text of the files that its method reads.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from ocm.identity import memory_hash

SHARED = "agents.prompts"


def fill(package: str, name: str, /, **values: object) -> str:
    """The prompt file ``name.md`` of a package with its placeholders filled in.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _template(package, name).substitute(values)


@cache
def _template(package: str, name: str) -> Template:
    return Template(files(package).joinpath(f"{name}.md").read_text("utf-8").rstrip("\n"))


@cache
def prompts_hash(*packages: str) -> str:
    """SHA-256 over all prompt files of the packages, by package and file name."""
    return memory_hash(
        {
            f"{package}/{entry.name}": entry.read_text("utf-8")
            for package in packages
            for entry in files(package).iterdir()
            if entry.name.endswith(".md")
        }
    )
