"""ALFWorld's part of the memory: which entries are worth reading, and the facts that source states."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from backbones.scripted.alfworld.facts import Facts, Kind, together
from backbones.scripted.alfworld.goals import Goal
from backbones.scripted.alfworld.reading import kind_of
from backbones.scripted.index import Entry, Index, nodes_in, table_in

PREFIX = "Thing"
"""Stands before the name of a class that would have a name that is taken."""
CORE_CLASSES = frozenset({"Item", "Place", "Agent"})


@lru_cache(maxsize=256)
def worth_reading(index: Index, goal: Goal, places: tuple[str, ...]) -> tuple[str, ...]:
    """Names of what tells where the goal's things are, how they are changed, what hides things, and what
    is in vain."""
    kinds = tuple(dict.fromkeys(map(kind_of, places)))
    wanted = [goal.item, *([goal.lamp] if goal.lamp else [])]
    if goal.treatment:
        ways = [entry for entry in index.entries if _is_way(entry, goal.treatment)]
        wanted += [entry.words[-1] for entry in ways] or kinds
    wanted += [kind for kind in kinds if any(entry.words == ("open", kind) for entry in index.entries)]
    names = [name for kind in wanted for name in _about(index, kind)]
    names += [entry.name for entry in index.entries if entry.words[-2:] == ("no", "effect")]
    return tuple(dict.fromkeys(names))


def _is_way(entry: Entry, verb: str) -> bool:
    return entry.is_file and len(entry.words) == 3 and entry.words[:2] == (verb, "with")


def _about(index: Index, kind: str) -> Iterator[str]:
    """A kind's class; where there is none, its file."""
    own = ((kind,), (PREFIX.lower(), kind))
    found = [entry.name for entry in index.entries if not entry.is_file and entry.words in own]
    files = ((verb, kind) for verb in ("find", "at"))
    yield from found or [entry.name for words in files for entry in index.entries if entry.words == words]


@lru_cache(maxsize=256)
def facts_in(text: str) -> Facts:
    """The facts stated by all code blocks of a text."""
    facts = Facts()
    for node in nodes_in(text):
        if isinstance(node, ast.ClassDef | ast.Module):
            facts = together(facts, _stated(node))
    return facts


def _stated(node: ast.ClassDef | ast.Module) -> Facts:
    tables: dict[str, Any] = dict(filter(None, map(table_in, node.body)))
    in_vain = _words(tables.get("no_effect"))
    name = tables.get("kind") if isinstance(node, ast.Module) else kind_named(node.name)
    if not isinstance(name, str) or not _is_word(name) or not tables.keys() & _TABLES:
        return Facts(in_vain=in_vain)
    kind = Kind(
        is_place=bool(tables.keys() & _TABLES - {"seen"}),
        seen=_counts(tables.get("seen")),
        can_close=tables.get("can_close") is True,
        treats=_words(tables.get("treats")),
        fails=_words(tables.get("fails")),
    )
    return Facts({name: kind}, in_vain)


_TABLES = frozenset({"seen", "can_close", "treats", "fails"})


def kind_named(name: str) -> str:
    """The kind that a class is of; empty for the core's."""
    rest = name.removeprefix(PREFIX)
    return "" if name in CORE_CLASSES else (rest if rest[:1].isupper() else name).lower()


def _is_word(value: str) -> bool:
    return value.isascii() and value.isalpha() and value.islower()


def _words(value: object) -> frozenset[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return frozenset()
    return frozenset(word for word in value if isinstance(word, str))


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {
        name: count
        for name, count in value.items()
        if isinstance(name, str) and _is_word(name) and type(count) is int and count > 0
    }
