"""Skills that craft: written from what a success shows, and called where one fits the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from backbones.scripted.dialogue import Dialogue
from backbones.scripted.names import kind
from backbones.scripted.plancraft import playing
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import CELLS, cells, needs, placements, shape_of
from backbones.scripted.plancraft.planning import Job, Planner
from backbones.scripted.plancraft.reading import OUTPUT, STORES, Command, State, command_in, state_in
from backbones.scripted.plancraft.sentences import sentences
from backbones.scripted.player import Move
from backbones.scripted.report import Report

_SKILL = re.compile(
    r'def (craft_\w+)\(items, times\):\n\s+"""[^"]*?[Tt]he grid \'([^\'\n]+)\' gives \d+ ([\w:]+)'
)
_TEMPLATE = '''def {name}(items, times):
    """Craft a {kind} in an empty grid: place what it takes, then take what comes of it.

    {fact}.
    items: what to place instead of {items} there; times: how often, at most what the stacks hold.
    Example: {name}({items}, 1)
    """
    cells = {cells}
    for cell, number in cells.items():
        lines = last_observation().split("- ")
        stacks = [line.split() for line in lines if line.startswith(f"{{items[number]}} [I")]
        source = max(stacks, key=lambda stack: int(stack[3]))[1]
        act(f"move: from {{source}} to [{{cell}}] with quantity {{times}}")
    for _ in range(times):
        seen = last_observation()
        free = next(slot for slot in range(1, 37) if f"[I{{slot}}]" not in seen)
        act(f"move: from [0] to [I{{free}}] with quantity {amount}")
'''
TOO_MANY = 64
"""More than any grid gives."""


class Skill(NamedTuple):
    """A skill as the memory shows it."""

    name: str
    shape: str
    kind: str
    """Of the product that it was written for."""


class Craft(NamedTuple):
    """Steps of an episode that together are one craft, from an empty grid to an empty grid."""

    pattern: str
    made: Made
    times: int
    actions: tuple[str, ...]


class Doing(NamedTuple):
    """One step of a finished episode."""

    action: str
    command: Command | None
    before: State
    after: State

    @property
    def actions(self) -> tuple[str]:
        return (self.action,)


def skills_in(text: str) -> list[Skill]:
    """The skills that craft in a text."""
    return [Skill(name, shape_of(pattern), kind(item)) for name, pattern, item in _SKILL.findall(text)]


def _fitting(skills: Sequence[Skill], pattern: str, product: str) -> Skill | None:
    """A skill that lays out such a pattern, rather one for things of this kind."""
    fitting = [skill for skill in skills if skill.shape == shape_of(pattern)]
    return max(fitting, key=lambda skill: skill.kind == kind(product), default=None)


def _call(skill: Skill, pattern: str, times: int) -> str:
    return f"{skill.name}({items_of(pattern)}, {times})"


def items_of(pattern: str) -> list[str]:
    """The different items of a pattern, in the order of its shape's letters."""
    return list(dict.fromkeys(item for _, _, item in cells(pattern)))


# --- learning ----------------------------------------------------------------------------------


def induce(report: Report, wrong: bool) -> tuple[list[str], list[str]]:
    """New skills, and the episode again with calls in place of what they do.

    Args:
        report: of a success without invalid steps.
        wrong: whether the skills are to ask for more than the grid gives.
    """
    doings = _doings(report)
    parts = _in_crafts(doings)
    if not any(isinstance(part, Craft) for part in parts):
        parts = _straight(doings)
    known = skills_in(report.known)
    sources = []
    lines: list[str] = []
    for part in parts:
        skill = _fitting(known, part.pattern, part.made.item) if isinstance(part, Craft) else None
        if isinstance(part, Craft) and (skill is None or skill.kind != kind(part.made.item)):
            skill = _new(part, known) or skill
            if skill and skill not in known:
                known.append(skill)
                sources.append(_source(skill, part, wrong))
        if isinstance(part, Craft) and skill:
            lines.append(_call(skill, part.pattern, part.times))
        else:
            lines += part.actions
    return sources, lines


def _in_crafts(doings: Sequence[Doing]) -> list[Doing | Craft]:
    """The same steps, with whole crafts in place of those that make one up."""
    parts: list[Doing | Craft] = []
    rest = list(doings)
    while rest:
        part = _craft(rest) or rest[0]
        parts.append(part)
        rest = rest[len(part.actions) :]
    return parts


def _straight(doings: Sequence[Doing]) -> list[Doing | Craft]:
    """Only what was taken from the grid at last, as if each had been laid out at once in an empty grid.

    Nothing where that would not do: something was smelted, or the grid was not empty at the beginning.
    """
    if (
        not doings
        or doings[0].before.grid
        or any(one.command and one.command.verb == "smelt" for one in doings)
    ):
        return []
    taken = (one for one in doings if one.command and one.command.source == OUTPUT and one.before.output)
    runs = groupby(taken, key=lambda one: (one.before.pattern, one.before.output))
    crafts = [
        Craft(pattern, made, len(actions), actions)
        for (pattern, made), run in runs
        if made and len(actions := tuple(one.action for one in run)) > 0
    ]
    return list(crafts)


def _new(craft: Craft, known: Sequence[Skill]) -> Skill | None:
    """A skill for this craft; None where its name is taken or cannot be one."""
    word = kind(craft.made.item)
    name = f"craft_{word}"
    taken = any(skill.name == name for skill in known)
    return Skill(name, shape_of(craft.pattern), word) if name.isidentifier() and not taken else None


def _source(skill: Skill, craft: Craft, wrong: bool) -> str:
    (fact,) = sentences(Facts({craft.pattern: craft.made}))
    items = items_of(craft.pattern)
    numbered = (f'"{cell}": {items.index(item)}' for cell, item in placements(craft.pattern)[0].items())
    return _TEMPLATE.format(
        name=skill.name,
        kind=skill.kind,
        fact=fact,
        items=items,
        cells=f"{{{', '.join(numbered)}}}",
        amount=TOO_MANY if wrong else craft.made.amount,
    )


def _doings(report: Report) -> list[Doing]:
    """The steps; none where the episode is not shown from its beginning to its end."""
    state = state_in(report.first)
    found = []
    for line in report.lines:
        after = state_in(line.observation)
        if state is None or not line.follows:
            return []
        found.append(Doing(line.action, command_in(line.action), state, after or state))
        state = after or state
    return found


def _craft(rest: Sequence[Doing]) -> Craft | None:
    """The craft that begins here, if one does."""
    if rest[0].before.grid:
        return None
    placed = _count(rest, lambda command: command.source in STORES and command.target in CELLS)
    if placed == 0 or placed == len(rest):
        return None
    laid = rest[placed].before
    taken = _count(rest[placed:], lambda command: command.source == OUTPUT and command.target in STORES)
    steps = placed + taken
    if taken == 0 or laid.output is None or (rest[steps - 1].after.grid and steps < len(rest)):
        return None
    return Craft(laid.pattern, laid.output, taken, tuple(one.action for one in rest[:steps]))


def _count(doings: Sequence[Doing], fits: Callable[[Command], bool]) -> int:
    """How many moves at the beginning fit."""
    moves = (one.command for one in doings)
    return sum(1 for _ in takewhile(lambda one: one and one.verb == "move" and fits(one), moves))


# --- acting ------------------------------------------------------------------------------------


def decide(dialogue: Dialogue, seed: int) -> Move:
    """The next turn: the call of a skill in view where it does the next job of the plan."""
    scene = playing.read_scene(dialogue)
    assert scene is not None, "asked only where goal and inventory are shown"
    move = playing.decide(scene, seed)
    plan = Planner(scene.book, scene.state.stock).best(scene.target)
    if plan is None or scene.state.grid or scene.state.output:
        return move
    job = plan.jobs[0]
    pattern = job.way.pattern
    skill = _fitting(skills_in(dialogue.known), pattern, job.way.product) if pattern else None
    times = times_at_once(scene.state, job)
    if skill is None or len(cells(pattern)) + times > scene.steps_left:
        return move
    return Move(move.thought, _call(skill, pattern, times))


def times_at_once(state: State, job: Job) -> int:
    """How often at once: more than once only where one stack of each item is enough."""
    largest = {
        item: max((stack.quantity for stack in state.slots.values() if stack.item == item), default=0)
        for item in needs(job.way.pattern)
    }
    enough = all(largest[item] >= count * job.times for item, count in needs(job.way.pattern).items())
    return job.times if enough else 1
