"""What an update should write: the lesson merged with the source that it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backbones.scripted.code import Code
from backbones.scripted.names import kind
from backbones.scripted.plancraft.facts import Facts, Made, together
from backbones.scripted.plancraft.knowledge import (
    CORE,
    class_name,
    craft_procedure,
    kind_class,
    kind_procedure,
    smelt_procedure,
    smelting_procedure,
    smelting_tables,
)
from backbones.scripted.plancraft.lessons import Lesson, lesson_in
from backbones.scripted.plancraft.memory import facts_in
from backbones.scripted.report import Report


@dataclass(frozen=True)
class Tables:
    """The facts that an update states, by the definition that holds them."""

    kinds: Mapping[str, Mapping[str, Made]] = field(default_factory=dict)
    """Kind -> its recipes."""
    smelting: Facts | None = None


@dataclass(frozen=True)
class Draft:
    """An update, and what it states."""

    tables: Tables
    news: Facts
    """What of it this episode showed."""
    lesson: Lesson
    code: Code


def draft(report: Report) -> Draft:
    """What an update should write, given the source that it was shown."""
    lesson, known = lesson_in(report), facts_in(report.source)
    tables = Tables(_kinds(lesson, known, report.readable), _smelting(lesson, known, report.readable))
    return rendered(lesson, tables)


def rendered(lesson: Lesson, tables: Tables) -> Draft:
    """Tables as code, in the parts that the memory keeps."""
    if lesson.keeps_objects:
        objects = _objects(lesson, tables)
        procedures = _exercises(lesson, tables) if lesson.keeps_procedures else {}
    else:
        objects, procedures = {}, _alone(tables)
    return Draft(tables, lesson.facts, lesson, Code(objects, procedures))


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
