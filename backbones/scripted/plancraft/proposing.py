"""Short plans for a model of the environment to choose from: what the player would do next, and alternatives.

The player's own plan goes on with what it would try then; the second does without its first action, should
that turn out to be of no use. Alternatives are no longer, so that a chooser
that counts valid actions prefers one of them only for what it gives, and what was begun comes to an end.
"""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.plancraft.facts import Way
from backbones.scripted.plancraft.grids import CELLS
from backbones.scripted.plancraft.moving import move, next_action
from backbones.scripted.plancraft.planning import Job, Planner
from backbones.scripted.plancraft.playing import Scene, decide, tries
from backbones.scripted.plancraft.reading import OUTPUT, Stack, State, command_in
from backbones.scripted.player import Move


def propose(scene: Scene, seed: int, most: int, length: int) -> tuple[Move, list[list[str]]]:
    """The player's next move, and at most ``most`` plans of at most ``length`` actions; its own is first."""
    move = decide(scene, seed)
    if command_in(move.text) is None:
        return move, [[move.text]]
    ways = list(_ways(scene, seed))
    own = _onward(scene.state, [move.text], ways, length)
    by_length: dict[int, list[str]] = {}
    for way in ways:
        plan = _plan(scene.state, way)
        if 1 < len(plan) <= min(length, len(own) + 1) and plan != own:
            by_length.setdefault(len(plan), plan)
    plans = [own, _onward(scene.state, [], ways, length), *by_length.values()]
    return move, [list(plan) for plan in dict.fromkeys(map(tuple, plans)) if plan][:most]


def _ways(scene: Scene, seed: int) -> Iterator[Way]:
    """What may be crafted next, what is known before what is tried."""
    planner = Planner(scene.book, scene.state.stock)
    plan = planner.best(scene.target)
    plans = [*([plan] if plan else []), *tries(scene, planner, seed)]
    yield from (plan.jobs[0].way for plan in plans if plan.jobs[0].way.pattern)


def _onward(state: State, actions: list[str], ways: list[Way], length: int) -> list[str]:
    """The actions, and what would come then if the grid gave nothing on the way."""
    plan, moved = list(actions), _after(state, actions)
    for way in ways:
        more = _placing(moved, way, length - len(plan)) if moved else []
        plan += more
        moved = _after(moved, more) if moved else None
    return plan


def _after(state: State, actions: list[str]) -> State | None:
    moved: State | None = state
    for action in actions:
        moved = _moved(moved, action) if moved else None
    return moved


def _plan(state: State, way: Way) -> list[str]:
    """The actions of one way from here to its product in the inventory; nothing where there are none."""
    placing = _placing(state, way, len(CELLS))
    return [*placing, move(OUTPUT, state.free, way.amount)] if placing else []


def _placing(state: State, way: Way, most: int) -> list[str]:
    """The moves that lay a grid out, at most so many."""
    actions: list[str] = []
    while state.pattern != way.pattern and len(actions) < most:
        action = next_action(state, Job(way, 1))
        moved = _moved(state, action) if action else None
        if action is None or moved is None:
            break
        actions.append(action)
        state = moved
    return actions


def _moved(state: State, action: str) -> State | None:
    """What lies where after an action, but for what the grid gives then; a smelt is taken to give nothing."""
    said = command_in(action)
    held = state.slots.get(said.source) if said else None
    if said is None or held is None:
        return None
    if said.verb == "smelt":
        return state
    quantity = held.quantity if said.source == OUTPUT else said.quantity
    slots = {slot: stack for slot, stack in state.slots.items() if slot != OUTPUT}
    before = slots[said.target].quantity if said.target in slots else 0
    slots[said.target] = Stack(held.item, before + quantity)
    for slot in CELLS if said.source == OUTPUT else (said.source,):
        if slot in state.slots:
            left = state.slots[slot].quantity - (1 if said.source == OUTPUT else quantity)
            slots[slot] = Stack(state.slots[slot].item, left)
            if left <= 0:
                del slots[slot]
    return State(slots)
