"""ScienceWorld as :class:`backbones.scripted.player.Player`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from backbones.scripted.code import Code
from backbones.scripted.dialogue import Dialogue
from backbones.scripted.player import Move
from backbones.scripted.report import Report
from backbones.scripted.scienceworld import mistakes, playing, reflecting
from backbones.scripted.scienceworld.drafting import draft
from backbones.scripted.scienceworld.goals import goal_in
from backbones.scripted.scienceworld.lessons import lesson_in
from backbones.scripted.scienceworld.reading import look_in
from backbones.scripted.scienceworld.scene import read_scene
from backbones.scripted.scienceworld.telling import tell


class ScienceworldPlayer:
    """Follows the task's text through the house, and remembers the house."""

    def plays(self, opening: str) -> bool:
        return goal_in(opening) is not None and look_in(opening) is not None

    def decide(self, dialogue: Dialogue, seed: int) -> Move:
        scene = read_scene(dialogue, seed)
        assert scene is not None, "asked only where plays() holds"
        return playing.decide(scene)

    def plan(self, report: Report) -> Mapping[str, Any]:
        return reflecting.plan(lesson_in(report))

    def write(self, report: Report) -> Code:
        return draft(report).code

    def tell(self, report: Report) -> tuple[str, ...]:
        return tell(lesson_in(report))

    def mislead(self, report: Report, good: Code, chance: random.Random) -> Code:
        return mistakes.mislead(draft(report), chance)
