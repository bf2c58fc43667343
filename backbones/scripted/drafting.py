"""What an update should write: the lesson merged with the source that it was shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from backbones.scripted.facts import Facts, Made, together
from backbones.scripted.knowledge import (
    CORE,
    class_name,
    craft_procedure,
    kind_class,
    kind_procedure,
    smelt_procedure,
    smelting_procedure,
    smelting_tables,
)
from backbones.scripted.lessons import Lesson
from backbones.scripted.memory import facts_in
from backbones.scripted.names import kind

_SHOWN = re.compile(r"^### ([\w./-]+)$", re.MULTILINE)
_CUT = re.compile(r"^([\w./-]+) is cut here", re.MULTILINE)


@dataclass(frozen=True)
class Tables:
    """The facts that an update states, by the definition that holds them."""

    kinds: Mapping[str, Mapping[str, Made]] = field(default_factory=dict)
    """Kind -> its recipes."""
    smelting: Facts | None = None


@dataclass(frozen=True)
class Draft:
    """An update in parts."""

    tables: Tables
    news: Facts
    """What of it this episode showed."""
    lesson: Lesson
    objects: Mapping[str, str] = field(default_factory=dict)
    """Name -> definition."""
    procedures: Mapping[str, str] = field(default_factory=dict)
    """Path -> file."""
    deleted: tuple[str, ...] = ()

    def text(self) -> str:
        """The reply in the form that was asked for."""
        blocks = []
        if self.objects:
            blocks.append("### objects.py\n```python\n" + "\n\n".join(self.objects.values()) + "```")
        blocks += [f"### {path}\n```python\n{text}```" for path, text in self.procedures.items()]
        blocks += [f"DELETE {path}" for path in self.deleted]
        return "\n\n".join(blocks) or "NO CHANGES"


def draft(lesson: Lesson, source: str) -> Draft:
    """What an update should write, given the source that was asked for."""
    readable = frozenset(_SHOWN.findall(source)) - frozenset(_CUT.findall(source))
    known = facts_in(source)
    tables = Tables(_kinds(lesson, known, readable), _smelting(lesson, known, readable))
    return rendered(lesson, tables)


def rendered(lesson: Lesson, tables: Tables) -> Draft:
    """Tables as code, in the parts that the memory keeps."""
    if lesson.keeps_objects:
        objects = _objects(lesson, tables)
        procedures = _exercises(lesson, tables) if lesson.keeps_procedures else {}
    else:
        objects, procedures = {}, _alone(tables)
    return Draft(tables, lesson.facts, lesson, objects, procedures)


def _kinds(lesson: Lesson, known: Facts, readable: frozenset[str]) -> dict[str, dict[str, Made]]:
    """Kind -> recipes, old and new; kinds whose source was not shown are left as they are."""
    found: dict[str, dict[str, Made]] = {}
    both = together(known, lesson.facts).recipes
    for word in lesson.kinds():
        name = class_name(word) if lesson.keeps_objects else f"procedures/craft_{word}.py"
        if lesson.index.has(name) and name not in readable:
            continue
        recipes = {
            grid: made
            for grid, made in both.items()
            if kind(made.item) == word and grid not in lesson.seen.barren
        }
        if recipes:
            found[word] = recipes
    return found


def _smelting(lesson: Lesson, known: Facts, readable: frozenset[str]) -> Facts | None:
    names = ("SMELTS", "UNSMELTABLE") if lesson.keeps_objects else ("procedures/smelting.py",)
    if any(lesson.index.has(name) and name not in readable for name in names):
        return None
    is_first = lesson.keeps_objects and not lesson.index.has("SMELTS")
    return together(known, lesson.facts) if lesson.smelting or is_first else None


def _objects(lesson: Lesson, tables: Tables) -> dict[str, str]:
    objects = {name: text for name, text in CORE.items() if not lesson.index.has(name)}
    if tables.smelting:
        objects |= smelting_tables(tables.smelting)
    for word, recipes in tables.kinds.items():
        objects[class_name(word)] = kind_class(word, recipes)
    return objects


def _exercises(lesson: Lesson, tables: Tables) -> dict[str, str]:
    """One procedure per new observation, as far as its facts are in the tables."""
    found = {
        path: craft_procedure(grid, made)
        for path, (grid, made) in lesson.crafts().items()
        if kind(made.item) in tables.kinds
    }
    if tables.smelting:
        found |= {path: smelt_procedure(item, made) for path, (item, made) in lesson.smelts().items()}
    return found


def _alone(tables: Tables) -> dict[str, str]:
    found = {f"procedures/craft_{word}.py": kind_procedure(word, made) for word, made in tables.kinds.items()}
    if tables.smelting:
        found["procedures/smelting.py"] = smelting_procedure(tables.smelting)
    return found
