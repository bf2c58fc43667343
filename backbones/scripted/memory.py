"""The memory as the prompt shows it: the index of what there is to inspect, and facts in source.

Source is read with :func:`ast.parse` only; nothing is imported or executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from backbones.scripted.facts import Facts, Made
from backbones.scripted.grids import is_pattern
from backbones.scripted.names import kind, tokens

HEADING = "# What you know"
FEW = 2
_ENTRY = re.compile(
    r"^(?:class (?P<klass>\w+)|def (?P<function>\w+)|(?P<path>procedures/[\w./-]+\.py)"
    r"|(?P<constant>\w+)\s*[:=])"
)
_LISTED = re.compile(r"^(?:# .*by name only[^:]*: (?P<names>.+)|(?P<bare>\w[\w./-]*(?:, \w[\w./-]*)+))$")
_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_ALLOWED = re.compile(r"inspect (\d+) times before an action and (\d+) times in an episode", re.IGNORECASE)
_ITEM = re.compile(r"(?:\*_)?[\w:.]+")
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
    """What the prompt offers to inspect, and how often."""

    entries: tuple[Entry, ...] = ()
    per_step: int = 0
    per_episode: int = 0

    def has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.entries)

    def about(self, item: str) -> Iterator[str]:
        """Names of what seems to tell how an item is made: its own procedure, its kind's class or file."""
        own = (tokens(item), (kind(item),), ("thing", kind(item)))
        for entry in self.entries:
            if (entry.words[1:] if entry.is_file else entry.words) in own:
                yield entry.name

    def resembling(self, item: str) -> Iterator[str]:
        """Procedures for what is called like an item at the beginning, a few."""
        alike = (
            entry.name for entry in self.entries if entry.is_file and entry.words[1:2] == tokens(item)[:1]
        )
        yield from islice(alike, FEW)

    def on_smelting(self) -> Iterator[str]:
        """Names of tables on smelting."""
        for entry in self.entries:
            table = entry.name.isupper() if not entry.is_file else entry.words in (("smelting",),)
            if table and "smelt" in entry.name.lower():
                yield entry.name


@lru_cache(maxsize=512)
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


def code_in(text: str) -> list[str]:
    """The fenced blocks of a text."""
    return [match[2] for match in _FENCED.finditer(text)]


@lru_cache(maxsize=4096)
def facts_in(text: str) -> Facts:
    """The facts stated by all code blocks of a text."""
    recipes: dict[str, Made] = {}
    smelts: dict[str, str] = {}
    unsmeltable: set[str] = set()
    for code in code_in(text):
        for name, value in _statements(code):
            if name == "recipes":
                recipes |= _recipes(value)
            elif name == "smelts":
                smelts |= {item: made for item, made in value.items() if _is_name(item) and _is_name(made)}
            elif name == "unsmeltable":
                unsmeltable.update(item for item in value if _is_name(item))
    return Facts(recipes, smelts, frozenset(unsmeltable))


def _recipes(value: dict[Any, Any]) -> dict[str, Made]:
    return {
        pattern: Made(*made)
        for pattern, made in value.items()
        if isinstance(pattern, str) and is_pattern(pattern) and _is_made(made)
    }


def _is_made(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and _is_name(value[0]) and type(value[1]) is int and value[1] > 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(_ITEM.fullmatch(value))


@lru_cache(maxsize=8192)
def _statements(code: str) -> tuple[tuple[str, Any], ...]:
    """(table, content) for the tables and the assertions of a piece of code."""
    tree = _parsed(code)
    return tuple(_stated(ast.walk(tree))) if tree else ()


def _parsed(code: str) -> ast.Module | None:
    for closing in _CLOSINGS:
        try:
            return ast.parse(f"{code}\n{closing}")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _stated(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Any]]:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = _literal(node.value)
            if isinstance(target, ast.Name) and isinstance(value, _TABLES.get(target.id.lower(), ())):
                yield target.id.lower(), value
        elif isinstance(node, ast.Assert):
            yield from _asserted(node.test)


_TABLES: dict[str, Any] = {"recipes": dict, "smelts": dict, "unsmeltable": (tuple, list, set)}


def _asserted(test: ast.expr) -> Iterator[tuple[str, Any]]:
    """``assert Kind.craft(grid) == (item, count)`` and ``assert smelt(item) == product``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call) or not test.left.args:
        return
    function = test.left.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    given, made = _literal(test.left.args[0]), _literal(test.comparators[0])
    if not isinstance(given, str):
        return
    if name == "craft" and isinstance(made, tuple):
        yield "recipes", {given: made}
    elif name == "smelt" and isinstance(made, str):
        yield "smelts", {given: made}


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
