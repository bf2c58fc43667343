"""The memory as a prompt shows it: the index of what there is to inspect, and source code.

Source is read with :func:`ast.parse` only; nothing is imported or executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from backbones.scripted.names import tokens

_ENTRY = re.compile(
    r"^(?:class (?P<klass>\w+)|def (?P<function>\w+)|(?P<path>procedures/[\w./-]+\.py)"
    r"|(?P<constant>\w+)\s*[:=])"
)
_LISTED = re.compile(r"^(?:# .*by name only[^:]*: (?P<names>.+)|(?P<bare>\w[\w./-]*(?:, \w[\w./-]*)+))$")
_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_ALLOWED = re.compile(r"inspect (\d+) times before an action and (\d+) times in an episode", re.IGNORECASE)
_CLOSINGS = ("", "}", "    }", ")", "    )")
"""What may complete a definition that was cut for want of room."""


@dataclass(frozen=True)
class Entry:
    """Something that can be inspected."""

    name: str
    is_file: bool

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tokens(self.name.removeprefix("procedures/").removesuffix(".py"))


@dataclass(frozen=True)
class Index:
    """What a prompt offers to inspect, and how often."""

    entries: tuple[Entry, ...] = ()
    per_step: int = 0
    per_episode: int = 0

    def has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.entries)


@lru_cache(maxsize=32)
def index_in(text: str) -> Index:
    """The index in a prompt; empty where there is none."""
    entries: dict[str, Entry] = {}
    for line in text.splitlines():
        for name in _names(line):
            entries.setdefault(name, Entry(name, "/" in name))
    allowed = _ALLOWED.search(text)
    per_step, per_episode = (int(allowed[1]), int(allowed[2])) if allowed else (0, 0)
    return Index(tuple(entries.values()), per_step, per_episode)


def _names(line: str) -> list[str]:
    if match := _LISTED.match(line):
        return (match["names"] or match["bare"]).split(", ")
    match = _ENTRY.match(line)
    if not match:
        return []
    name = match["klass"] or match["function"] or match["path"] or match["constant"]
    return [name] if name else []


def nodes_in(text: str) -> Iterator[ast.AST]:
    """All syntax nodes of all fenced code blocks of a text; blocks that do not parse have none."""
    for match in _FENCED.finditer(text):
        tree = _parsed(match[2])
        if tree:
            yield from ast.walk(tree)


@lru_cache(maxsize=32)
def _parsed(code: str) -> ast.Module | None:
    for closing in _CLOSINGS:
        try:
            return ast.parse(f"{code}\n{closing}")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def table_in(node: ast.AST) -> tuple[str, Any] | None:
    """(name in lower case, value) where the node assigns to a name; the value is None if it is no literal."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return (target.id.lower(), literal(node.value)) if isinstance(target, ast.Name) else None


def literal(node: ast.expr) -> Any:
    """The value of a literal; None where it is none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
