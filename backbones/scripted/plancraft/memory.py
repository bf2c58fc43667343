"""PlanCraft's part of the memory: which entries tell of an item, and the facts that source states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from backbones.scripted.index import Index, literal, nodes_in, table_in
from backbones.scripted.names import kind, tokens
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import is_pattern

FEW = 2
_ITEM = re.compile(r"(?:\*_)?[\w:.]+")


def about(index: Index, item: str) -> Iterator[str]:
    """Names of what seems to tell how an item is made: its own procedure, its kind's class or file."""
    own = (tokens(item), (kind(item),), ("thing", kind(item)))
    for entry in index.entries:
        if (entry.words[1:] if entry.is_file else entry.words) in own:
            yield entry.name


def resembling(index: Index, item: str) -> Iterator[str]:
    """Procedures for what is called like an item at the beginning, a few."""
    alike = (entry.name for entry in index.entries if entry.is_file and entry.words[1:2] == tokens(item)[:1])
    yield from islice(alike, FEW)


def on_smelting(index: Index) -> Iterator[str]:
    """Names of tables on smelting."""
    for entry in index.entries:
        table = entry.name.isupper() if not entry.is_file else entry.words in (("smelting",),)
        if table and "smelt" in entry.name.lower():
            yield entry.name


@lru_cache(maxsize=256)
def facts_in(text: str) -> Facts:
    """The facts stated by all code blocks of a text."""
    recipes: dict[str, Made] = {}
    smelts: dict[str, str] = {}
    unsmeltable: set[str] = set()
    for name, value in _stated(text):
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


def _stated(text: str) -> Iterator[tuple[str, Any]]:
    """(table, content) for the tables and the assertions of the code in a text, in the order of the code."""
    for node in nodes_in(text):
        if table := table_in(node):
            if isinstance(table[1], _TABLES.get(table[0], ())):
                yield table
        elif isinstance(node, ast.Assert):
            yield from _asserted(node.test)


_TABLES: dict[str, Any] = {"recipes": dict, "smelts": dict, "unsmeltable": (tuple, list, set)}


def _asserted(test: ast.expr) -> Iterator[tuple[str, Any]]:
    """``assert Kind.craft(grid) == (item, count)`` and ``assert smelt(item) == product``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call) or not test.left.args:
        return
    function = test.left.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    given, made = literal(test.left.args[0]), literal(test.comparators[0])
    if not isinstance(given, str):
        return
    if name == "craft" and isinstance(made, tuple):
        yield "recipes", {given: made}
    elif name == "smelt" and isinstance(made, str):
        yield "smelts", {given: made}
