"""Rules, episodes and replies for tests of WALL-E."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agents.walle import rules, transitions
from agents.walle.rules import Rule, RuleBook
from agents.walle.transitions import Played
from ocm.types import Step, Trajectory, Validity
from tests.agents.fakes import trajectory

STATE = "Craft a stone\ninventory:\n - dirt [I1] quantity 3\n - cobblestone [I2] quantity 1"


def smelts_nothing(*items: str) -> str:
    """A rule's code: smelting these items fails."""
    return (
        "import re\n\n"
        f"INERT = {items!r}\n\n\n"
        "def rule(state, action):\n"
        "    slot = re.search(r'from \\[(\\w+)\\]', action['raw'])\n"
        "    held = slot and re.search(r'- (\\S+) \\[' + slot[1] + r'\\]', state['obs'])\n"
        "    if held and (held[1] in INERT or '*' in INERT):\n"
        "        return f'{held[1]} does not smelt.', False, 'Keep it.'\n"
        "    return '', True, ''\n"
    )


def made(number: int, code: str, verb: str = "smelt") -> Rule:
    return Rule(number, verb, f"rule {number}", "", code)


def memory_of(
    *active: Rule, pool: tuple[Rule, ...] = (), episodes: tuple[Played, ...] = ()
) -> dict[str, str]:
    last = max((rule.number for rule in (*active, *pool)), default=0)
    return {**transitions.written(episodes), **rules.written(RuleBook(active, pool, last))}


def smelt(slot: str, validity: Validity = Validity.VALID) -> Step:
    return Step(f"smelt: from [{slot}] to [I9] with quantity 1", STATE, 0.0, False, False, validity)


def move(validity: Validity = Validity.VALID) -> Step:
    return Step("move: from [I1] to [A1] with quantity 1", STATE, 0.0, False, False, validity)


def episode(*steps: Step) -> Trajectory:
    """An episode in which dirt lies in I1 and cobblestone in I2, before every step."""
    played = trajectory(*steps)
    return Trajectory(
        played.task, "Craft a stone", STATE, played.steps, played.turns, played.inspections, played.end
    )


def predictions(*success: bool) -> str:
    said = [{"number": number, "why": "", "success": one} for number, one in enumerate(success, start=1)]
    return json.dumps({"predictions": said})


def mined(*words: str, conflicting: tuple[str, ...] = (), improves: str = "") -> str:
    found = [{"rule": one, "check": "look", "improves": improves} for one in words]
    return json.dumps({"verified": [], "conflicting": list(conflicting), "rules": found})


def functions(code: Mapping[int, str]) -> str:
    return json.dumps({"functions": [{"number": number, "code": text} for number, text in code.items()]})
