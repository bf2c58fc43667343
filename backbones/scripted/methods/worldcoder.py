"""WorldCoder: programs from transitions, mended on counter-examples, and plans to choose from."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace

from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.plancraft.modelling import first_model, mended_model
from backbones.scripted.plancraft.playing import read_scene
from backbones.scripted.plancraft.proposing import propose
from backbones.scripted.plancraft.reading import Event, state_in
from backbones.scripted.players import player_of
from backbones.scripted.seeds import call_generator, episode_seed
from ocm.types import Request

FAILS_AGAIN = 0.2
"""Share of mendings that change nothing, where mistakes are made on purpose."""
_REQUEST = "\n\nDo not act yet. Propose up to "
_ASKED = re.compile(r"up to (\d+) different short plans from here, each a list of 1 to (\d+) actions")
_PART = re.compile(
    r"^(Observation before|First observation|Observation after|Action|Outcome|The program predicted"
    r"|Actions before|## Episode|# |Give the definitions)(?::[ \n]?)?",
    re.MULTILINE,
)
_FAILED = re.compile(r"^FAILED = (\[.*\])$", re.MULTILINE)
_HOPEFUL = '''```python
FAILED = {failed}


def predict(belief, action):
    """Hopeful, but for what was seen to fail."""
    return {{"valid": action not in FAILED, "reward": 0.0, "done": False, "obs": None}}
```'''


def _propose(request: Request, error_rate: float) -> str:
    *before, last = request.messages
    shown, _, asked = last.content.rpartition(_REQUEST)
    messages = (*before, replace(last, content=shown))
    player, numbers = player_of(messages[1].content), _ASKED.search(f"up to {asked}")
    if player is None or numbers is None:
        return ""
    dialogue, seed = read_dialogue(messages), episode_seed(request)
    scene = read_scene(dialogue)
    if scene is None:
        move = player.decide(dialogue, seed)
        plans = [[move.text]]
    else:
        move, plans = propose(scene, seed, int(numbers[1]), int(numbers[2]))
    return json.dumps({"thought": move.thought, "plans": plans})


def _write(request: Request, error_rate: float) -> str:
    question, chance = request.messages[1].content, call_generator(request)
    events = list(_events(question))
    if not any(event.after for event in events):
        return _hopeful(question)
    is_first = question.startswith("Write the program")
    if is_first:
        return first_model(events, chance.random() < error_rate, chance)
    return _NOTHING if _fails_again(error_rate, chance) else mended_model(question, events)


_NOTHING = "I do not see what is wrong with it."


def _fails_again(error_rate: float, chance: random.Random) -> bool:
    return error_rate > 0 and chance.random() < FAILS_AGAIN


def _events(question: str) -> Iterator[Event]:
    """The transitions that a question shows."""
    _, *parts = _PART.split(question)
    before, action = None, ""
    for label, text in zip(parts[::2], parts[1::2], strict=True):
        if label in ("Observation before", "First observation"):
            before = state_in(text)
            yield Event("", None, before)
        elif label == "Action":
            action = text.strip()
        elif label == "Observation after":
            after = state_in(text)
            yield Event(action, before, after)
            before = after or before


def _hopeful(question: str) -> str:
    """A program for an environment whose rules these rules do not know: what failed will fail again."""
    _, *parts = _PART.split(question)
    known = _FAILED.search(question)
    failed = list(json.loads(known[1])) if known else []
    action = ""
    for label, text in zip(parts[::2], parts[1::2], strict=True):
        if label == "Action":
            action = text.strip()
        elif label == "Outcome" and text.startswith("invalid") and action not in failed:
            failed.append(action)
    return _HOPEFUL.format(failed=json.dumps(failed))


def _is_proposal(request: Request) -> bool:
    return _REQUEST in request.messages[-1].content


ANSWERS = (
    Answer(_is_proposal, _propose),
    Answer(opens("You write a world model of a text environment"), _write),
)
