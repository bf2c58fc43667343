"""Reading the environment's text: states of the inventory, and what a history of them shows.

A line of an observation is `` - item [slot] quantity n``; slots are ``[0]`` (what the grid gives),
``[A1]`` to ``[C3]`` (the grid) and ``[I1]`` to ``[I36]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import CELLS, pattern_of

OUTPUT = "0"
STORES = tuple(f"I{number}" for number in range(1, 37))

_STACK = re.compile(r"^\s*-\s*([\w:.]+)\s+\[(0|[ABC][123]|I\d\d?)\]\s+quantity\s+(\d+)\s*$", re.MULTILINE)
_INVENTORY = re.compile(r"^\s*inventory:", re.MULTILINE | re.IGNORECASE)
_TARGET = re.compile(r"item of type:\s*([\w:.]+)")
_ACTION = re.compile(r"\b(move|smelt)\b.*?from\s+\[(\w+)\]\s+to\s+\[(\w+)\]\s+with\s+quantity\s+(\d+)", re.I)


class Stack(NamedTuple):
    item: str
    quantity: int


class Command(NamedTuple):
    """A move or a smelt, as read from an action's text."""

    verb: str
    source: str
    target: str
    quantity: int


@dataclass(frozen=True, eq=False)
class State:
    """All slots that hold something."""

    slots: Mapping[str, Stack]

    @cached_property
    def grid(self) -> dict[str, str]:
        """Slot -> item of the crafting grid."""
        return {slot: self.slots[slot].item for slot in CELLS if slot in self.slots}

    @cached_property
    def pattern(self) -> str:
        return pattern_of(self.grid)

    @cached_property
    def output(self) -> Made | None:
        """What the grid gives now."""
        stack = self.slots.get(OUTPUT)
        return Made(stack.item, stack.quantity) if stack else None

    @cached_property
    def stock(self) -> Counter[str]:
        """How many of each item there are, the grid's included and its output not."""
        counts: Counter[str] = Counter()
        for slot, stack in self.slots.items():
            if slot != OUTPUT:
                counts[stack.item] += stack.quantity
        return counts

    @cached_property
    def free(self) -> str:
        """An empty store; where all are full, the last one."""
        return next((slot for slot in STORES if slot not in self.slots), STORES[-1])


@lru_cache(maxsize=1024)
def state_in(text: str) -> State | None:
    """The inventory that a text shows, or None where it shows none."""
    head = _INVENTORY.search(text)
    if not head:
        return None
    stacks = _STACK.findall(text, head.end())
    return State({slot: Stack(item, int(quantity)) for item, slot, quantity in stacks})


@lru_cache(maxsize=256)
def target_in(text: str) -> str:
    """The item that a goal asks for; empty where it asks for none."""
    match = _TARGET.search(text)
    return match[1] if match else ""


@lru_cache(maxsize=1024)
def command_in(text: str) -> Command | None:
    """The first move or smelt in a text."""
    match = _ACTION.search(text)
    return Command(match[1].lower(), match[2], match[3], int(match[4])) if match else None


class Event(NamedTuple):
    """One action with what was seen before and after it."""

    action: str
    before: State | None
    after: State | None


@dataclass(frozen=True)
class Seen:
    """What a history shows."""

    facts: Facts
    barren: frozenset[str]
    """Patterns that gave nothing."""


def seen_in(first: State | None, events: Iterable[Event]) -> Seen:
    """Recipes, smelts and failures that a history shows."""
    recipes: dict[str, Made] = {}
    barren: set[str] = set()
    smelts: dict[str, str] = {}
    unsmeltable: set[str] = set()
    _note_grid(first, recipes, barren)
    for event in events:
        _note_grid(event.after, recipes, barren)
        _note_smelt(event, smelts, unsmeltable)
    return Seen(Facts(recipes, smelts, frozenset(unsmeltable - smelts.keys())), frozenset(barren))


def _note_grid(state: State | None, recipes: dict[str, Made], barren: set[str]) -> None:
    if state is None or not state.pattern:
        return
    if state.output:
        recipes[state.pattern] = state.output
    else:
        barren.add(state.pattern)


def _note_smelt(event: Event, smelts: dict[str, str], unsmeltable: set[str]) -> None:
    command = command_in(event.action)
    if not command or command.verb != "smelt" or not event.before or not event.after:
        return
    source = event.before.slots.get(command.source)
    if source is None or source.quantity < command.quantity or command.target in event.before.slots:
        return
    result = event.after.slots.get(command.target)
    if result:
        smelts[source.item] = result.item
    else:
        unsmeltable.add(source.item)
