"""Programs that carry a plan out, with calls of the programs in view that do a part of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from backbones.scripted.dialogue import Dialogue
from backbones.scripted.names import kind
from backbones.scripted.plancraft import playing
from backbones.scripted.plancraft.grids import placements, shape_of
from backbones.scripted.plancraft.planning import Job, Plan, Planner
from backbones.scripted.plancraft.skilling import items_of, times_at_once

_SHOWN = re.compile(r"^# (\w+): ", re.MULTILINE)
_CRAFTS = re.compile(r'def (craft_\w+)\(product, items, times\):\n\s+"""[^"]*?Laid out as \'([^\'\n]+)\'')
_HELPERS = '''def stacks(item, place):
    """[item, slot, "quantity", number] of the stacks of an item (any, if blank) in slots that begin so."""
    lines = [line.split() for line in last_observation().split("- ")]
    held = [line for line in lines if len(line) > 3 and line[1].startswith(place)]
    return [line for line in held if item in ("", line[0])]


def free():
    """The first empty slot of the inventory."""
    return next(slot for slot in (f"[I{n}]" for n in range(1, 37)) if not stacks("", slot))


def clear():
    """Put all that lies in the grid into empty slots."""
    for row in "ABC":
        for stack in stacks("", f"[{row}"):
            act(f"move: from {stack[1]} to {free()} with quantity {stack[3]}")


def largest(item):
    """The largest stack of an item in the inventory."""
    return max(stacks(item, "[I"), key=lambda stack: int(stack[3]))


'''
_CRAFT = '''def {name}(product, items, times):
    """Craft a {kind} and take it; False if the grid does not give it.

    Laid out as '{pattern}'. items: what to place instead of {items} there; times: how often.
    """
    clear()
    cells = {cells}
    for cell, number in cells.items():
        act(f"move: from {{largest(items[number])[1]}} to [{{cell}}] with quantity {{times}}")
    for _ in range(times):
        if not stacks(product, "[0]"):
            return False
        act(f"move: from [0] to {{free()}} with quantity 1")
    return True


'''
_SMELT = '''def smelt(item, times):
    """Smelt an item into an empty slot, as much as its largest stack holds. False if nothing comes of it."""
    clear()
    seen, stack = last_observation(), largest(item)
    return act(f"smelt: from {stack[1]} to {free()} with quantity {min(times, int(stack[3]))}") != seen


'''
_MAIN = '''def {name}():
    """Make {target} from what is there, one thing after another."""
    return (
{lines}
    )


'''
_GIVE_UP = '''def give_up(reason):
    """Say that the task is impossible."""
    act(f"impossible: {reason}")


give_up("no way was found")
'''


class Parts(NamedTuple):
    """A program in the making."""

    functions: dict[str, str]
    """Name -> definition."""
    calls: list[str]


def write(dialogue: Dialogue, seed: int) -> tuple[str, str]:
    """A thought and the program that goes with it."""
    scene = playing.read_scene(dialogue)
    assert scene is not None, "asked only where goal and inventory are shown"
    planner = Planner(scene.book, scene.state.stock)
    plan = planner.best(scene.target)
    if plan is None and scene.steps_left > 1:
        plan = next(playing.tries(scene, planner, seed), None)
    if plan is None:
        return f"Nothing that I tried leads to {scene.target}.", _GIVE_UP
    return playing.thought_on(plan, scene.target), _program(plan, scene, _callable(dialogue.known))


def _callable(known: str) -> dict[str, str]:
    """Shape -> name, for the programs in view that craft."""
    shown = set(_SHOWN.findall(known))
    return {shape_of(pattern): name for name, pattern in _CRAFTS.findall(known) if name in shown}


def _program(plan: Plan, scene: playing.Scene, stored: Mapping[str, str]) -> str:
    parts = Parts({}, [])
    for number, job in enumerate(plan.jobs):
        at_once = times_at_once(scene.state, job) if number == 0 and job.way.pattern else 1
        call = _craft(job, at_once, stored, parts) if job.way.pattern else _smelt(job, parts)
        repeats = -(-job.times // at_once) if job.way.pattern else 1
        parts.calls.extend([call] * repeats)
    head = _HELPERS if parts.functions else ""
    body = head + "".join(parts.functions.values())
    if len(parts.calls) == 1:
        return f"{body}{parts.calls[0]}\n"
    word = kind(scene.target)
    name = f"make_{word}" if word.isidentifier() else "make"
    lines = "\n        and ".join(parts.calls)
    return f"{body}{_MAIN.format(name=name, target=scene.target, lines=f'        {lines}')}{name}()\n"


def _craft(job: Job, times: int, stored: Mapping[str, str], parts: Parts) -> str:
    """The call for a craft; defines what is called where nothing in view does it."""
    pattern = job.way.pattern
    name = stored.get(shape_of(pattern)) or _defined(job, parts)
    return f"{name}({job.way.product!r}, {items_of(pattern)}, {times})"


def _defined(job: Job, parts: Parts) -> str:
    pattern, word = job.way.pattern, kind(job.way.product)
    word = word if word.isidentifier() else "thing"
    items = items_of(pattern)
    for name in (f"craft_{word}", *(f"craft_{word}_{number}" for number in range(2, 9))):
        source = _CRAFT.format(
            name=name,
            kind=word,
            pattern=pattern,
            items=items,
            cells={cell: items.index(item) for cell, item in placements(pattern)[0].items()},
        )
        if parts.functions.setdefault(name, source) == source or _lays(parts.functions[name], pattern):
            return name
    raise AssertionError("a plan has fewer shapes of one kind")


def _lays(source: str, pattern: str) -> bool:
    return any(shape_of(other) == shape_of(pattern) for _, other in _CRAFTS.findall(source))


def _smelt(job: Job, parts: Parts) -> str:
    parts.functions["smelt"] = _SMELT
    return f"smelt({job.way.smelted!r}, {job.times})"
