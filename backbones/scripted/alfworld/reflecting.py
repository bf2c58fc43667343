"""The learning plan."""

from __future__ import annotations

from typing import Any

from backbones.scripted.alfworld.core import CORE
from backbones.scripted.alfworld.exercises import WAYS
from backbones.scripted.alfworld.facts import Kind
from backbones.scripted.alfworld.knowledge import FIND
from backbones.scripted.alfworld.lessons import PROCEDURES, Lesson


def plan(lesson: Lesson) -> dict[str, Any]:
    """What to write, why, and what must be read first."""
    tables = _tables(lesson)
    objects = [*tables, *_core(lesson)] if lesson.keeps_objects and tables else []
    if not lesson.keeps_objects:
        procedures = tables
    else:
        procedures = _procedures(lesson)[:PROCEDURES] if lesson.keeps_procedures else []
    changed = [item["name"] for item in (*objects, *procedures) if item["action"] == "modify"]
    return {
        "summary": _summary(lesson) if objects or procedures else "Nothing new was seen.",
        "objects": objects,
        "procedures": procedures,
        "inspect": changed,
    }


def _summary(lesson: Lesson) -> str:
    goal, facts = lesson.goal, lesson.facts
    tried = sum(len(kind.treats) + len(kind.fails) for kind in facts.kinds.values())
    return (
        f"Where {goal.item} and {len(facts.kinds) - 1} other kinds are; {tried} changes tried, "
        f"{len(facts.in_vain)} things in vain."
    )


def _tables(lesson: Lesson) -> list[dict[str, str]]:
    items = [_item(lesson, lesson.entry(name), _said(lesson.facts.of(name))) for name in lesson.kinds()]
    if lesson.ways() or (lesson.keeps_objects and items and not lesson.index.has(lesson.table)):
        items.append(_item(lesson, lesson.table, "; ".join(sorted(lesson.facts.in_vain)) or "nothing so far"))
    return items


def _core(lesson: Lesson) -> list[dict[str, str]]:
    return [_item(lesson, name, "the core of the model") for name in CORE if not lesson.index.has(name)]


def _procedures(lesson: Lesson) -> list[dict[str, str]]:
    wanted = {
        f"procedures/{verb}_with_{place}.py": f"{verb} with {place}" for verb, place in lesson.changes()
    }
    wanted |= {WAYS[what].path: f"{what} has no effect" for what in lesson.ways()}
    wanted |= {FIND.format(kind=kind): f"{kind} is at {place}" for kind, place in lesson.found()}
    wanted |= {f"procedures/open_{place}.py": f"open {place}" for place in lesson.opened()}
    return [_item(lesson, path, change) for path, change in wanted.items() if not lesson.index.has(path)]


def _item(lesson: Lesson, name: str, change: str) -> dict[str, str]:
    action = "modify" if lesson.index.has(name) else "create"
    return {"action": action, "name": name, "change": f"state: {change}", "why": "seen in this episode"}


def _said(kind: Kind) -> str:
    parts = [f"seen at {', '.join(kind.seen)}"] if kind.seen else []
    parts += [f"{verb} works" for verb in sorted(kind.treats)]
    parts += [f"{verb} does not" for verb in sorted(kind.fails)]
    return "; ".join([*parts, *(["can be closed"] if kind.can_close else [])]) or "what is true"
