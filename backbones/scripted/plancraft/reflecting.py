"""The learning plan."""

from __future__ import annotations

from typing import Any

from backbones.scripted.names import kind
from backbones.scripted.plancraft.grids import needs
from backbones.scripted.plancraft.knowledge import CORE, class_name
from backbones.scripted.plancraft.lessons import Lesson


def plan(lesson: Lesson) -> dict[str, Any]:
    """What to write, why, and what must be read first."""
    objects = _objects(lesson) if lesson.keeps_objects else []
    procedures = _procedures(lesson) if lesson.keeps_procedures else []
    changed = [item["name"] for item in (*objects, *procedures) if item["action"] == "modify"]
    return {
        "summary": _summary(lesson, bool(objects or procedures)),
        "objects": objects,
        "procedures": procedures,
        "inspect": changed,
    }


def _summary(lesson: Lesson, news: bool) -> str:
    if not news:
        return "Nothing new was seen."
    facts = lesson.facts
    seen = (
        f"{len(facts.recipes)} recipes, {len(facts.smelts)} smelts and {len(facts.unsmeltable)} failed smelts"
    )
    return f"{seen}; {len(lesson.wrong)} beliefs were wrong." if lesson.wrong else f"{seen}."


def _objects(lesson: Lesson) -> list[dict[str, str]]:
    items = [_item(lesson, class_name(word), _recipes_of(lesson, word)) for word in lesson.kinds()]
    if lesson.smelting:
        items += [_item(lesson, "SMELTS", str(lesson.facts.smelts))]
        items += [_item(lesson, "UNSMELTABLE", ", ".join(sorted(lesson.facts.unsmeltable)))]
    if items:
        items += [_item(lesson, name, "the core of the model") for name in missing_core(lesson)]
    return items


def missing_core(lesson: Lesson) -> list[str]:
    """Core definitions that the memory does not have yet, the empty tables of smelting apart."""
    return [name for name in CORE if not lesson.index.has(name)]


def _procedures(lesson: Lesson) -> list[dict[str, str]]:
    if not lesson.keeps_objects:
        items = [
            _item(lesson, f"procedures/craft_{word}.py", _recipes_of(lesson, word)) for word in lesson.kinds()
        ]
        return [*items, *([_item(lesson, "procedures/smelting.py", "smelting")] if lesson.smelting else [])]
    crafts = [
        _item(lesson, path, f"craft {made.item} from {dict(needs(grid))}")
        for path, (grid, made) in lesson.crafts().items()
    ]
    return crafts + [
        _item(lesson, path, f"smelt {item} into {made}") for path, (item, made) in lesson.smelts().items()
    ]


def _item(lesson: Lesson, name: str, change: str) -> dict[str, str]:
    action = "modify" if lesson.index.has(name) else "create"
    return {"action": action, "name": name, "change": f"state {change}", "why": "seen in this episode"}


def _recipes_of(lesson: Lesson, word: str) -> str:
    seen = {grid: made for grid, made in lesson.facts.recipes.items() if kind(made.item) == word}
    return (
        "; ".join(f"{grid} gives {made.amount} {made.item}" for grid, made in seen.items()) or "what is true"
    )
