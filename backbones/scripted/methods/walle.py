"""WALL-E: hopeful predictions, rules from what failed, and their code."""

from __future__ import annotations

import json
import random
import re

from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.plancraft.reading import Event, command_in, state_in
from backbones.scripted.plancraft.ruling import functions, rulings
from backbones.scripted.seeds import question_seed
from ocm.types import Request

_ENTRY = re.compile(
    r"^\[(?P<number>\d+)\] before:\n(?P<before>.*?)^    recent actions: [^\n]*\n"
    r"    action: (?P<action>[^\n]*)\n?(?:    outcome: (?P<outcome>[^\n]*)\nafter:\n)?"
    r"(?P<after>.*?)(?=^\[\d+\] before:|^# |\Z)",
    re.MULTILINE | re.DOTALL,
)
_VERB = re.compile(r"^# Verb\n(.*)$", re.MULTILINE)
_MOVING = ("move:", "smelt:")


def _predict(request: Request, error_rate: float) -> str:
    """What can be read succeeds: whoever knows nothing of an environment is hopeful."""
    said = [
        {"number": int(entry["number"]), "why": "it can be read", "success": _is_readable(entry["action"])}
        for entry in _ENTRY.finditer(request.messages[1].content)
    ]
    return json.dumps({"predictions": said})


def _is_readable(action: str) -> bool:
    return not action.startswith(_MOVING) or command_in(action) is not None


def _mine(request: Request, error_rate: float) -> str:
    text = request.messages[1].content
    verb = _VERB.search(text)
    is_careless = random.Random(question_seed("mine", request)).random() < error_rate
    events = [_event(entry) for entry in _ENTRY.finditer(text)]
    found = rulings(verb[1] if verb else "", events, text.partition("# Task")[0], is_careless)
    rules = [one._asdict() for one in found]
    return json.dumps({"verified": [], "conflicting": [], "rules": rules}, indent=1)


def _event(entry: re.Match[str]) -> Event:
    before = state_in(entry["before"])
    after = before if entry["after"].startswith("(as before)") else state_in(entry["after"])
    return Event(entry["action"], before, after)


def _code(request: Request, error_rate: float) -> str:
    rules = request.messages[1].content.partition("# Examples")[0]
    said = [{"number": number, "code": code} for number, code in functions(rules).items()]
    return json.dumps({"functions": said}, indent=1)


ANSWERS = (
    Answer(opens("You are the world model of a text environment"), _predict),
    Answer(opens("You look for the rules by which actions of one verb fail"), _mine),
    Answer(opens("You turn rules about failing actions"), _code),
)
