"""A world model of the crafting table as Python: general rules, and tables of what was seen.

The rules are common sense about tables and stacks. What grids give and what can be smelted is only in the
tables.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from backbones.scripted.plancraft.facts import Facts, together
from backbones.scripted.plancraft.knowledge import smelting_tables
from backbones.scripted.plancraft.memory import facts_in
from backbones.scripted.plancraft.reading import Event, seen_in

RULES: Mapping[str, str] = {
    "re": "import re\n",
    "CELLS": 'CELLS = ["A1", "A2", "A3", "B1", "B2", "B3", "C1", "C2", "C3"]\n',
    "SLOTS": 'SLOTS = ["0", *CELLS, *(f"I{n}" for n in range(1, 37))]\n',
    "STACK": 'STACK = re.compile(r"^ - (\\S+) \\[(\\w+)\\] quantity (\\d+)", re.MULTILINE)\n',
    "ACTION": 'ACTION = re.compile(r"(\\w+): from \\[(\\w+)\\] to \\[(\\w+)\\] with quantity (\\d+)")\n',
    "stacks": '''def stacks(obs):
    """Slot -> (item, quantity)."""
    return {slot: (item, int(n)) for item, slot, n in STACK.findall(obs)}
''',
    "pattern": '''def pattern(slots):
    """The grid's items, moved to its upper left corner: rows with `/` between them."""
    filled = [cell for cell in CELLS if cell in slots]
    rows = sorted({cell[0] for cell in filled})
    columns = sorted({cell[1] for cell in filled})
    if not filled:
        return ""
    return " / ".join(
        " ".join(
            slots.get(chr(row) + str(column), ("-", 0))[0]
            for column in range(int(columns[0]), int(columns[-1]) + 1)
        )
        for row in range(ord(rows[0]), ord(rows[-1]) + 1)
    )
''',
    "take": '''def take(slots, slot, quantity):
    """Less in a slot."""
    item, there = slots[slot]
    if there > quantity:
        slots[slot] = (item, there - quantity)
    else:
        del slots[slot]
''',
    "after": '''def after(slots, verb, source, target, quantity):
    """What lies where after a move or a smelt; None where it is refused."""
    if source not in slots or slots[source][1] < quantity or quantity < 1:
        return None
    if target == source or target not in SLOTS or target == "0":
        return None
    item, there = slots[source]
    moved = item
    if verb == "smelt":
        if source == "0" or item in UNSMELTABLE:
            return None
        moved = SMELTS[item]
    elif source == "0":
        quantity = there
    if target in slots and (slots[target][0] != moved or slots[target][1] + quantity > 64):
        return None
    left = dict(slots)
    left[target] = (moved, quantity + (slots[target][1] if target in slots else 0))
    take(left, source, quantity)
    if source == "0":
        for cell in CELLS:
            if cell in slots:
                take(left, cell, 1)
    if source == "0" or source in CELLS or target in CELLS:
        left.pop("0", None)
        if pattern(left) in RECIPES:
            left["0"] = RECIPES[pattern(left)]
    return left
''',
    "predict": '''def predict(belief, action):
    """What a move or a smelt does; unknown for other actions, but that giving up ends the task."""
    shown = [obs for obs in belief["seen"] if "inventory:" in obs]
    said = ACTION.match(action)
    if action.startswith("impossible"):
        return {"valid": True, "reward": 0.0, "done": True, "obs": None}
    if not said or said[1] not in ("move", "smelt") or not shown:
        return None
    slots = stacks(shown[-1])
    verb, source, target, quantity = said[1], said[2], said[3], int(said[4])
    if verb == "smelt" and source in slots and slots[source][0] not in {*SMELTS, *UNSMELTABLE}:
        return {"valid": True, "reward": 0.0, "done": False, "obs": shown[-1]}
    left = after(slots, verb, source, target, quantity)
    if left is None:
        return {"valid": False, "reward": 0.0, "done": False, "obs": shown[-1]}
    lines = [f" - {left[slot][0]} [{slot}] quantity {left[slot][1]}" for slot in SLOTS if slot in left]
    head = shown[-1].partition("inventory:")[0] + "inventory:"
    return {"valid": True, "reward": 0.0, "done": False, "obs": "\\n".join([head, *lines])}
''',
    "goal_reward": '''def goal_reward(task, belief, action, obs):
    """A thing of the wanted type must lie anywhere but in [0]."""
    if action.startswith("impossible"):
        return 0.0, True
    wanted = task.rpartition(":")[2].strip()
    held = any(item == wanted and slot != "0" for slot, (item, n) in stacks(obs or "").items())
    return (1.0, True) if held else (0.0, False)
''',
}
_FENCED = re.compile(r"^# Program\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MISTAKES: Sequence[tuple[str, str, str]] = (
    ("after", "source not in slots or slots[source][1] < quantity or quantity < 1", "source not in slots"),
    ("after", "slots[target][0] != moved or ", ""),
    ("goal_reward", ' and slot != "0"', ""),
    ("predict", '"valid": False', '"valid": True'),
    ("take", "if there > quantity:", "if there > quantity"),  # does not parse
)
"""Definition, what is right in it, and what stands there by mistake."""


def first_model(events: Sequence[Event], is_careless: bool, chance: random.Random) -> str:
    """A whole program from transitions, with one mistake on purpose where it is careless."""
    rules = _spoiled(chance) if is_careless else RULES
    return _block({**rules, **_tables(seen_in(None, events).facts)})


def mended_model(question: str, events: Sequence[Event]) -> str:
    """The definitions of a program that do not say what they should, after transitions it was wrong about.

    Tables keep what they stated; where they contradict what is shown, that counts.
    """
    found = _FENCED.search(question)
    program = found[1] if found else ""
    seen = seen_in(None, events)
    known = facts_in(f"```python\n{program}```")
    recipes = {grid: made for grid, made in known.recipes.items() if grid not in seen.barren}
    tables = _tables(together(Facts(recipes, known.smelts, known.unsmeltable), seen.facts))
    changed = {name: text for name, text in {**RULES, **tables}.items() if text.strip() not in program}
    return _block(changed or tables)


def _spoiled(chance: random.Random) -> dict[str, str]:
    name, right, wrong = chance.choice(_MISTAKES)
    spoiled = {**RULES, name: RULES[name].replace(right, wrong)}
    return {**{key: text for key, text in spoiled.items() if key != name}, name: spoiled[name]}


def _tables(facts: Facts) -> dict[str, str]:
    lines = "".join(
        f'    "{grid}": ("{made.item}", {made.amount}),\n' for grid, made in sorted(facts.recipes.items())
    )
    return {"RECIPES": f"RECIPES = {{\n{lines}}}\n", **smelting_tables(facts)}


def _block(definitions: Mapping[str, str]) -> str:
    return "```python\n" + "\n\n".join(definitions.values()) + "```"
