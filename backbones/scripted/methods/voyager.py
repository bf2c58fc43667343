"""Voyager: programs in place of actions, criticism between them, a description at the end."""

from __future__ import annotations

import json

from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.manner import UNREADABLE
from backbones.scripted.methods import acting
from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.plancraft import programming
from backbones.scripted.plancraft.player import PlancraftPlayer
from backbones.scripted.players import player_of
from backbones.scripted.report import read_report
from backbones.scripted.seeds import call_generator, episode_seed
from ocm.types import Request

SENTENCES = 5
_PLANCRAFT = PlancraftPlayer()
_CAME_TO_NOTHING = "That reply could not be used: the program did not"
_PROGRAM = """{thought}

```python
{code}```"""
_SEND = '''def send(action):
    """Send one action."""
    act(action)


send({action!r})
'''


def _act(request: Request, error_rate: float) -> str:
    """The next program."""
    opening = request.messages[1].content
    player, seed = player_of(opening), episode_seed(request)
    if player is None:
        return ""
    dialogue = read_dialogue(request.messages)
    came_to_nothing = request.messages[-1].content.startswith(_CAME_TO_NOTHING)
    if _PLANCRAFT.plays(opening) and not came_to_nothing:
        thought, code = programming.write(dialogue, seed)
    else:
        move = player.decide(dialogue, seed)
        thought, code = move.thought, _SEND.format(action=move.text)
    if call_generator(request).random() < UNREADABLE:
        return f"{thought} I will go on with that."
    return _PROGRAM.format(thought=thought, code=code)


def _criticise(request: Request, error_rate: float) -> str:
    """It has only the last observation, and the episode goes on: so the goal is not reached."""
    found = {
        "reasoning": "The episode goes on.",
        "success": False,
        "critique": "The goal is not reached yet.",
    }
    return json.dumps(found)


def _describe(request: Request, error_rate: float) -> str:
    """What was seen on the way, in sentences that can be read again."""
    report = read_report(request.messages)
    player = player_of(report.opening)
    seen = player.tell(report)[:SENTENCES] if player else ()
    return " ".join((f"Reaches the goal: {' '.join(report.goal.split()).rstrip('.')}.", *seen))


def _writes_programs(request: Request) -> bool:
    return acting.ANSWERS[0].asked(request) and "you write a Python program" in request.messages[0].content


ANSWERS = (
    Answer(_writes_programs, _act),
    Answer(opens("You review how far an agent"), _criticise),
    Answer(opens("You describe a Python program"), _describe),
)
