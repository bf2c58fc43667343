"""ASI: skills from a success, and calls of those in view."""

from __future__ import annotations

import random

from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.manner import written
from backbones.scripted.methods import acting
from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.plancraft import skilling
from backbones.scripted.plancraft.player import PlancraftPlayer
from backbones.scripted.report import read_report
from backbones.scripted.seeds import call_generator, episode_seed, question_seed
from ocm.types import Request

NOTHING = "NO SKILLS"
_PLANCRAFT = PlancraftPlayer()


def _induce(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    if not _PLANCRAFT.plays(report.opening):
        return NOTHING
    chance = random.Random(question_seed("induce", request))
    skills, lines = skilling.induce(report, wrong=chance.random() < error_rate)
    if not skills:
        return NOTHING
    blocks = "\n\n".join(f"```python\n{skill}```" for skill in skills)
    return f"{blocks}\n\nRewritten episode:\n```text\n" + "\n".join(lines) + "\n```"


def _act(request: Request, error_rate: float) -> str:
    """The next turn: a call where a skill in view does what comes next."""
    if not _PLANCRAFT.plays(request.messages[1].content):
        return acting.act(request, error_rate)
    move = skilling.decide(read_dialogue(request.messages), episode_seed(request))
    return written(move, call_generator(request))


def _has_skills(request: Request) -> bool:
    return acting.ANSWERS[0].asked(request) and "\n# Skills\n" in request.messages[0].content


ANSWERS = (
    Answer(opens("You induce skills from one successful episode"), _induce),
    Answer(_has_skills, _act),
)
