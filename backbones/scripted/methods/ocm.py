"""OCM: a learning plan, then code."""

from __future__ import annotations

import json
import random

from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.players import player_of
from backbones.scripted.report import read_report
from backbones.scripted.seeds import question_seed
from backbones.scripted.updating import update
from ocm.types import Request


def _reflect(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    player = player_of(report.opening)
    return json.dumps(player.plan(report), indent=2) if player else ""


def _update(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    player = player_of(report.opening)
    if player is None:
        return ""
    chance = random.Random(question_seed("update", request))
    return update(player, report, request.messages[2:], error_rate, chance).text()


ANSWERS = (
    Answer(opens("You reflect on one episode"), _reflect),
    Answer(opens("You update an executable model"), _update),
)
