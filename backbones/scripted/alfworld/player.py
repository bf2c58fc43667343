"""ALFWorld as :class:`backbones.scripted.player.Player`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from backbones.scripted.alfworld import mistakes, playing, reflecting
from backbones.scripted.alfworld.drafting import draft
from backbones.scripted.alfworld.goals import goal_in
from backbones.scripted.alfworld.lessons import lesson_in
from backbones.scripted.alfworld.reading import places_in
from backbones.scripted.alfworld.scene import read_scene
from backbones.scripted.alfworld.telling import tell
from backbones.scripted.code import Code
from backbones.scripted.dialogue import Dialogue
from backbones.scripted.player import Move
from backbones.scripted.report import Report


class AlfworldPlayer:
    """Finds, changes and places things with what it sees and remembers."""

    def plays(self, opening: str) -> bool:
        return goal_in(opening) is not None and bool(places_in(opening))

    def decide(self, dialogue: Dialogue, seed: int) -> Move:
        scene = read_scene(dialogue, seed)
        assert scene is not None, "asked only where plays() holds"
        return playing.decide(scene)

    def plan(self, report: Report) -> Mapping[str, Any]:
        lesson = lesson_in(report)
        assert lesson is not None, "asked only where plays() holds"
        return reflecting.plan(lesson)

    def write(self, report: Report) -> Code:
        drafted = draft(report)
        assert drafted is not None, "asked only where plays() holds"
        return drafted.code

    def tell(self, report: Report) -> tuple[str, ...]:
        lesson = lesson_in(report)
        assert lesson is not None, "asked only where plays() holds"
        return tell(lesson)

    def mislead(self, report: Report, good: Code, chance: random.Random) -> Code:
        drafted = draft(report)
        assert drafted is not None, "asked only where plays() holds"
        return mistakes.mislead(drafted, chance)
