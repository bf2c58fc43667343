"""What an update should write: the lesson merged with the source that it was shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from backbones.scripted.alfworld.core import CORE, class_name
from backbones.scripted.alfworld.exercises import (
    WAYS,
    find_procedure,
    open_procedure,
    treat_procedure,
    way_procedure,
)
from backbones.scripted.alfworld.facts import Facts, Kind, grown
from backbones.scripted.alfworld.knowledge import (
    FIND,
    kind_class,
    kind_procedure,
    no_effect,
    no_effect_procedure,
)
from backbones.scripted.alfworld.lessons import PROCEDURES, Lesson, lesson_in
from backbones.scripted.alfworld.memory import facts_in
from backbones.scripted.code import Code
from backbones.scripted.report import Report


@dataclass(frozen=True)
class Tables:
    """The facts that an update states, by the definition that holds them."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    in_vain: frozenset[str] | None = None
    """None where that table is left alone."""


@dataclass(frozen=True)
class Draft:
    """An update, and what it states."""

    lesson: Lesson
    tables: Tables
    news: Facts
    """What of it this episode showed."""
    code: Code


def draft(report: Report) -> Draft | None:
    """What an update should write, given the source that it was shown; None where nothing can be read."""
    lesson = lesson_in(report)
    if lesson is None:
        return None
    both = grown(facts_in(report.source), lesson.facts)
    return rendered(lesson, Tables(_kinds(lesson, both, report), _in_vain(lesson, both, report)))


def rendered(lesson: Lesson, tables: Tables) -> Draft:
    """Tables as code, in the parts that the memory keeps."""
    if not lesson.keeps_objects:
        code = Code({}, _alone(lesson, tables))
    else:
        procedures = dict(islice(_exercises(lesson, tables), PROCEDURES)) if lesson.keeps_procedures else {}
        code = Code(_objects(lesson, tables), procedures)
    return Draft(lesson, tables, lesson.facts, code)


def _kinds(lesson: Lesson, both: Facts, report: Report) -> dict[str, Kind]:
    """Kinds with what is known of them; those whose source was not shown are left as they are."""
    entries = {name: lesson.entry(name) for name in lesson.kinds()}
    return {
        name: both.kinds[name]
        for name, entry in entries.items()
        if entry in report.readable or not lesson.index.has(entry)
    }


def _in_vain(lesson: Lesson, both: Facts, report: Report) -> frozenset[str] | None:
    is_there = lesson.index.has(lesson.table)
    if is_there and (lesson.table not in report.readable or not lesson.ways()):
        return None
    return both.in_vain if both.in_vain or lesson.keeps_objects else None


def _objects(lesson: Lesson, tables: Tables) -> dict[str, str]:
    objects = {name: text for name, text in CORE.items() if not lesson.index.has(name)}
    if tables.in_vain is not None:
        objects["NO_EFFECT"] = no_effect(tables.in_vain)
    return objects | {class_name(name): kind_class(name, kind) for name, kind in tables.kinds.items()}


def _exercises(lesson: Lesson, tables: Tables) -> Iterator[tuple[str, str]]:
    """Path and file for what has no procedure yet, as far as its facts are in the tables."""
    for path, text in _candidates(lesson, tables):
        if not lesson.index.has(path):
            yield path, text


def _candidates(lesson: Lesson, tables: Tables) -> Iterator[tuple[str, str]]:
    kinds = tables.kinds
    for verb, place in lesson.changes():
        if place in kinds:
            yield f"procedures/{verb}_with_{place}.py", treat_procedure(verb, place)
    for what in lesson.ways():
        if tables.in_vain and what in tables.in_vain:
            yield WAYS[what].path, way_procedure(what)
    for kind, place in dict(lesson.found()).items():
        if kind in kinds:
            yield FIND.format(kind=kind), find_procedure(kind, place)
    for place in lesson.opened():
        if place in kinds:
            yield f"procedures/open_{place}.py", open_procedure(place)


def _alone(lesson: Lesson, tables: Tables) -> dict[str, str]:
    found = {lesson.entry(name): kind_procedure(name, kind) for name, kind in tables.kinds.items()}
    if tables.in_vain:
        found[lesson.table] = no_effect_procedure(tables.in_vain)
    return found
