"""The learning plan."""

from __future__ import annotations

from typing import Any

from backbones.scripted.scienceworld.exercises import exercises
from backbones.scripted.scienceworld.knowledge import CORE, CORE_TABLES
from backbones.scripted.scienceworld.lessons import Lesson


def plan(lesson: Lesson) -> dict[str, Any]:
    """What to write, why, and what must be read first."""
    holders = _holders(lesson) if not lesson.facts.empty else {}
    objects, procedures = [], []
    if lesson.keeps_objects:
        objects = [_item(lesson, name, change) for name, change in holders.items()]
    elif lesson.keeps_procedures:
        procedures = [_item(lesson, name, change) for name, change in holders.items()]
    if lesson.keeps_objects and lesson.keeps_procedures:
        procedures = [
            _item(lesson, one.path, one.text.splitlines()[0].strip('"')) for one in exercises(lesson)
        ]
    return {
        "summary": _summary(lesson, bool(objects or procedures)),
        "objects": objects,
        "procedures": procedures,
        "inspect": [item["name"] for item in (*objects, *procedures) if item["action"] == "modify"],
    }


def _holders(lesson: Lesson) -> dict[str, str]:
    """What is to be written -> what it is to state."""
    found = {lesson.holder_of_table(name): f"what {_words(name)} showed" for name in lesson.tables}
    for room in lesson.rooms:
        doors = ", ".join(lesson.facts.doors[room])
        found[lesson.holder_of_room(room)] = f"the {room}: doors to {doors}; what was seen there"
    if lesson.keeps_objects:
        missing = (name for name in (*CORE, *CORE_TABLES) if not lesson.index.has(name))
        found |= {name: "the core of the model" for name in missing if name not in found}
    return found


def _words(name: str) -> str:
    return name.lower().replace("_", " ")


def _summary(lesson: Lesson, news: bool) -> str:
    if not news:
        return "Nothing new was seen."
    trials = sum(map(len, lesson.facts.tried.values()))
    return f"{len(lesson.rooms)} rooms, {trials} trials and {len(lesson.facts.mixtures)} mixtures were seen."


def _item(lesson: Lesson, name: str, change: str) -> dict[str, str]:
    action = "modify" if lesson.index.has(name) else "create"
    return {"action": action, "name": name, "change": f"state {change}", "why": "seen in this episode"}
