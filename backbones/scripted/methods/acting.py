"""One action at a time, as most methods ask for it; what memory there is stands in the prompt."""

from __future__ import annotations

from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.manner import written
from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.players import player_of
from backbones.scripted.seeds import call_generator, episode_seed
from ocm.types import Request


def act(request: Request, error_rate: float) -> str:
    """The next turn."""
    player = player_of(request.messages[1].content)
    if player is None:
        return ""
    move = player.decide(read_dialogue(request.messages), episode_seed(request))
    return written(move, call_generator(request))


ANSWERS = (Answer(opens("You act in a text environment"), act),)
