"""Conditions under which an action fails, as WALL-E's rules: seen, in words, and as code.

Only what was seen to fail becomes a rule. That a whole kind of things cannot be smelted is assumed from
two of them, and may turn out to be wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from backbones.scripted.names import kind
from backbones.scripted.plancraft.reading import Event, command_in, seen_in

INERT = "Smelting has no effect on: "
EVERYTHING = "*"
ENOUGH_FOR_A_KIND = 2
KINDS = 3
"""Kinds that one question is answered with."""
LONGEST = 360
"""Characters of one rule: what is more becomes a rule of its own."""
_LIST = re.compile(re.escape(INERT) + r"([\w:*, ]+)")
_KNOWN = re.compile(r"^- `(\w+)`: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] verb `\w+`: (.*)$", re.MULTILINE)

_MOVES: Mapping[str, tuple[str, str]] = {
    "A move from a slot that holds nothing has no effect": (
        "source not in slots",
        "That slot is empty; choose one that holds something.",
    ),
    "A move of more than a slot holds has no effect": (
        "source in slots and int(slots[source][1]) < int(count)",
        "Move at most as many as there are.",
    ),
    "A move onto a slot that holds something else has no effect": (
        "source in slots and target in slots and slots[source][0] != slots[target][0]",
        "Choose an empty slot.",
    ),
}
"""Condition in words -> the same in Python, and what to do instead."""


class Ruling(NamedTuple):
    """A new rule in words."""

    rule: str
    check: str
    improves: str = ""
    """The known rule that it takes the place of."""


def rulings(verb: str, events: Iterable[Event], known: str, is_careless: bool) -> list[Ruling]:
    """What a question on one verb is answered with.

    Args:
        verb: of all the actions.
        events: the actions, with what was seen before and after each.
        known: the known rules, as the question lists them.
        is_careless: whether a mistake is made on purpose: a rule that goes far beyond what was seen.
    """
    if verb == "smelt":
        return _on_smelting(list(events), known, is_careless)
    failed = {condition for event in events for condition in _failed_moves(event)}
    return [Ruling(words, "look up both slots in the last inventory") for words in _MOVES if words in failed]


def _on_smelting(events: list[Event], known: str, is_careless: bool) -> list[Ruling]:
    facts = seen_in(None, events).facts
    told = {name: _listed(words) for name, words in _KNOWN.findall(known)}
    old = {item for items in told.values() for item in items}
    new = sorted(item for item in facts.unsmeltable - old if f"*_{kind(item)}" not in old)
    check = "look up what the slot holds in the last inventory"
    if is_careless and new:
        return [Ruling(f"{INERT}{EVERYTHING}", "none needed")]
    found = [Ruling(f"{INERT}{words}", check, name) for name, words in _grown(told, new, old)]
    tally = Counter(kind(item) for item in {*facts.unsmeltable, *old} if not item.startswith("*"))
    smelted = {kind(item) for item in facts.smelts}
    kinds = sorted({kind(item) for item in new} - smelted)
    fresh = [word for word in kinds if tally[word] >= ENOUGH_FOR_A_KIND][:KINDS]
    return [*found, *(Ruling(f"{INERT}*_{word}", check) for word in fresh)]


def _grown(told: Mapping[str, list[str]], new: list[str], old: set[str]) -> Iterator[tuple[str, str]]:
    """The list of items that has room for the new ones, with its rule's name; else a list of its own.

    Items of a kind that has a rule by now leave the list.
    """
    if not new:
        return
    for name, items in told.items():
        words = ", ".join([*(item for item in items if f"*_{kind(item)}" not in old), *new])
        if items and not any(item.startswith("*") for item in items) and len(words) <= LONGEST:
            yield name, words
            return
    yield "", ", ".join(new)


def _listed(words: str) -> list[str]:
    found = _LIST.search(words)
    return [item.strip() for item in found[1].split(",") if item.strip()] if found else []


def _failed_moves(event: Event) -> Iterator[str]:
    """Why a move may have failed."""
    command, before = command_in(event.action), event.before
    if command is None or before is None or event.after is None or before.slots != event.after.slots:
        return
    source, target = before.slots.get(command.source), before.slots.get(command.target)
    empty, few, other = _MOVES
    if source is None:
        yield empty
    elif source.quantity < command.quantity:
        yield few
    elif target and target.item != source.item:
        yield other


# --- code --------------------------------------------------------------------------------------


def functions(rules: str) -> dict[int, str]:
    """Code by number, for the numbered rules of a text that are of the forms above."""
    found = {int(number): _code(words.strip()) for number, words in _NUMBERED.findall(rules)}
    return {number: code for number, code in found.items() if code}


def _code(words: str) -> str:
    if items := _listed(words):
        lines = "".join(f'    "{item}",\n' for item in items)
        return f"{_OPENING}INERT = (\n{lines})\n{_SMELTING}"
    test, advice = _MOVES.get(words, ("", ""))
    return _OPENING + _MOVING.format(test=test, words=words, advice=advice) if test else ""


_OPENING = r"""import re

STACK = re.compile(r"- (\S+) \[(\w+)\] quantity (\d+)")
PARTS = re.compile(r"from \[(\w+)\] to \[(\w+)\] with quantity (\d+)")
"""
_SMELTING = '''

def rule(state, action):
    """Smelting what is known to have no effect fails."""
    parts = PARTS.search(action["raw"])
    if action["verb"] != "smelt" or not parts:
        return "", True, ""
    for item, slot, _ in STACK.findall(state["obs"]):
        if slot == parts[1] and (item in INERT or "*_" + item.split("_")[-1] in INERT or "*" in INERT):
            return "Smelting " + item + " has no effect.", False, "Do something else with it."
    return "", True, ""
'''
_MOVING = '''

def rule(state, action):
    """{words}."""
    parts = PARTS.search(action["raw"])
    if action["verb"] != "move" or not parts or "inventory:" not in state["obs"]:
        return "", True, ""
    slots = {{slot: (item, count) for item, slot, count in STACK.findall(state["obs"])}}
    source, target, count = parts.groups()
    if {test}:
        return "{words}.", False, "{advice}"
    return "", True, ""
'''
