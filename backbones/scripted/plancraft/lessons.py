"""What an episode teaches, as read from the text of a reflection or an update prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backbones.scripted.index import Index
from backbones.scripted.names import kind, likeness
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.reading import Event, Seen, seen_in, state_in, target_in
from backbones.scripted.report import Report

_BELIEF = re.compile(r"As I know, for (\w+) I can (?:craft it as '([^']+)'|smelt (\w+))")
KINDS = 8
"""Kinds of things that one update touches at most."""
PROCEDURES = 3
"""Procedures that one update adds at most."""


@dataclass(frozen=True)
class Lesson:
    """An episode's observations beside what is known already."""

    target: str
    seen: Seen
    wrong: frozenset[str]
    """Products about which the memory turned out to be wrong."""
    index: Index
    keeps_objects: bool
    keeps_procedures: bool

    @property
    def facts(self) -> Facts:
        return self.seen.facts

    def kinds(self) -> list[str]:
        """Kinds of products that there is something to say about, those like the target first."""
        items = {*(made.item for made in self.facts.recipes.values()), *self.wrong}
        new = [item for item in items if item in self.wrong or not self.index.has(_craft_path(item))]
        order = sorted(new, key=lambda item: (-likeness(self.target, item), item))
        return list(dict.fromkeys(map(kind, order)))[:KINDS]

    def crafts(self) -> dict[str, tuple[str, Made]]:
        """Path -> grid and product, for the observed recipes that have no procedure yet."""
        recipes = sorted(
            self.facts.recipes.items(),
            key=lambda seen: (-likeness(self.target, seen[1].item), len(seen[0]), seen),
        )
        found: dict[str, tuple[str, Made]] = {}
        for grid, made in recipes:
            path = _craft_path(made.item)
            if kind(made.item) in self.kinds() and (made.item in self.wrong or not self.index.has(path)):
                found.setdefault(path, (grid, made))
        return dict(list(found.items())[:PROCEDURES])

    def smelts(self) -> dict[str, tuple[str, str]]:
        """Path -> item and product, for the observed smelts that have no procedure yet."""
        found = {f"procedures/smelt_{item}.py": (item, made) for item, made in self.facts.smelts.items()}
        return {path: smelt for path, smelt in found.items() if not self.index.has(path)}

    @property
    def smelting(self) -> bool:
        """Whether there is something to say about smelting."""
        news = self.smelts() or self.facts.unsmeltable
        return bool(news or self.wrong.intersection(self.facts.unsmeltable))


def _craft_path(item: str) -> str:
    return f"procedures/craft_{item}.py"


def lesson_in(report: Report) -> Lesson:
    """The lesson of an episode."""
    first = state = state_in(report.first)
    events = []
    for line in report.lines:
        after = state_in(line.observation)
        events.append(Event(line.action, state if line.follows else None, after))
        state = after or state
    seen = seen_in(first, events)
    thoughts = "\n".join(line.thought for line in report.lines)
    return Lesson(
        target=target_in(report.opening),
        seen=seen,
        wrong=frozenset(_wrong_beliefs(thoughts, seen)),
        index=report.index,
        keeps_objects=report.keeps_objects,
        keeps_procedures=report.keeps_procedures,
    )


def _wrong_beliefs(thoughts: str, seen: Seen) -> set[str]:
    """Products that the agent was sure to get, and did not."""
    found = set()
    for product, grid, item in _BELIEF.findall(thoughts):
        made = seen.facts.recipes.get(grid)
        if grid and (grid in seen.barren or (made and made.item != product)):
            found.add(product)
        if item and item in seen.facts.unsmeltable:
            found.add(product)
    return found
