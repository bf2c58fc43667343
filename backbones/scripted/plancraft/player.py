"""PlanCraft as :class:`backbones.scripted.player.Player`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from backbones.scripted.code import Code
from backbones.scripted.dialogue import Dialogue
from backbones.scripted.plancraft import mistakes, playing, reflecting
from backbones.scripted.plancraft.drafting import draft
from backbones.scripted.plancraft.lessons import lesson_in
from backbones.scripted.plancraft.reading import state_in, target_in
from backbones.scripted.plancraft.telling import tell
from backbones.scripted.player import Move
from backbones.scripted.report import Report


class PlancraftPlayer:
    """Crafts from what it sees and remembers."""

    def plays(self, opening: str) -> bool:
        return bool(target_in(opening)) and state_in(opening) is not None

    def decide(self, dialogue: Dialogue, seed: int) -> Move:
        scene = playing.read_scene(dialogue)
        assert scene is not None, "asked only where plays() holds"
        return playing.decide(scene, seed)

    def plan(self, report: Report) -> Mapping[str, Any]:
        return reflecting.plan(lesson_in(report))

    def write(self, report: Report) -> Code:
        return draft(report).code

    def tell(self, report: Report) -> tuple[str, ...]:
        return tell(lesson_in(report))

    def mislead(self, report: Report, good: Code, chance: random.Random) -> Code:
        return mistakes.mislead(draft(report), chance)
