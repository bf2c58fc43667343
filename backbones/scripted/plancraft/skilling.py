"""Skills that craft: written from what a success shows, and called where one fits the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from backbones.scripted.dialogue import Dialogue
from backbones.scripted.plancraft import playing
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.grids import CELLS, needs, placements
from backbones.scripted.plancraft.planning import Job, Planner
from backbones.scripted.plancraft.reading import OUTPUT, STORES, Command, State, command_in, state_in
from backbones.scripted.plancraft.sentences import sentences
from backbones.scripted.player import Move
from backbones.scripted.report import Report

_SKILL = re.compile(r'def (craft_\w+)\(times\):\n\s+"""[^"]*?[Tt]he grid \'([^\'\n]+)\' gives')
_TEMPLATE = '''def {name}(times):
    """Craft {item} in an empty grid: place what it takes, then take what comes of it.

    {fact}.
    times: how often; the stacks must hold enough. Example: {name}(1)
    """
    cells = {cells}
    for cell, item in cells.items():
        lines = last_observation().split("- ")
        stacks = [line.split() for line in lines if line.startswith(f"{{item}} [I")]
        source = max(stacks, key=lambda stack: int(stack[3]))[1]
        act(f"move: from {{source}} to [{{cell}}] with quantity {{times}}")
    for _ in range(times):
        seen = last_observation()
        free = next(slot for slot in range(1, 37) if f"[I{{slot}}]" not in seen)
        act(f"move: from [0] to [I{{free}}] with quantity {amount}")
'''


class Craft(NamedTuple):
    """Steps of an episode that together are one craft, from an empty grid to an empty grid."""

    pattern: str
    made: Made
    times: int
    steps: int


class Doing(NamedTuple):
    """One step of a finished episode."""

    action: str
    command: Command | None
    before: State
    after: State


def skills_in(text: str) -> dict[str, str]:
    """Pattern -> name, for the skills that craft in a text."""
    return {pattern: name for name, pattern in _SKILL.findall(text)}


# --- learning ----------------------------------------------------------------------------------


def induce(report: Report, wrong: bool) -> tuple[list[str], list[str]]:
    """New skills, and the episode again with calls in place of what they do.

    Args:
        report: of a success without invalid steps.
        wrong: whether the skills are to ask for more than the grid gives.
    """
    known = skills_in(report.known)
    skills: dict[str, str] = {}
    lines = []
    rest = _doings(report)
    while rest:
        craft = _craft(rest)
        name = craft and (known.get(craft.pattern) or f"craft_{craft.made.item}")
        if not craft or not name or _is_taken(name, craft, known, report):
            lines.append(rest.pop(0).action)
            continue
        if craft.pattern not in known:
            known[craft.pattern] = name
            skills[name] = _source(name, craft, wrong)
        lines.append(f"{name}({craft.times})")
        rest = rest[craft.steps :]
    return list(skills.values()), lines


def _is_taken(name: str, craft: Craft, known: dict[str, str], report: Report) -> bool:
    """Whether a skill of this name crafts otherwise, or the name cannot be one."""
    other = name in known.values() or report.index.has(name)
    return craft.pattern not in known and (other or not name.isidentifier())


def _source(name: str, craft: Craft, wrong: bool) -> str:
    (fact,) = sentences(Facts({craft.pattern: craft.made}))
    cells = ", ".join(f'"{cell}": "{item}"' for cell, item in placements(craft.pattern)[0].items())
    return _TEMPLATE.format(
        name=name,
        item=craft.made.item,
        fact=fact,
        cells=f"{{{cells}}}",
        amount=craft.made.amount + wrong,
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
    return Craft(laid.pattern, laid.output, taken, steps)


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
    name = plan and skills_in(dialogue.known).get(plan.jobs[0].way.pattern)
    if not plan or not name or scene.state.grid or scene.state.output:
        return move
    times = _times(scene.state, plan.jobs[0])
    fits = len(placements(plan.jobs[0].way.pattern)[0]) + times <= scene.steps_left
    return Move(move.thought, f"{name}({times})") if fits else move


def _times(state: State, job: Job) -> int:
    """How often at once: more than once only where one stack of each item is enough."""
    largest = {
        item: max((stack.quantity for stack in state.slots.values() if stack.item == item), default=0)
        for item in needs(job.way.pattern)
    }
    enough = all(largest[item] >= count * job.times for item, count in needs(job.way.pattern).items())
    return job.times if enough else 1
