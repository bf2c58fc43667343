"""Short plans for a model of the environment to choose from: the player's own next move, and alternatives.

The alternatives take no more moves than the first plan: a chooser that counts valid actions would else
prefer what takes long, and never end anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backbones.scripted.plancraft.facts import Way
from backbones.scripted.plancraft.moving import move, next_action
from backbones.scripted.plancraft.planning import Job, Planner
from backbones.scripted.plancraft.playing import Scene, decide, tries
from backbones.scripted.plancraft.reading import OUTPUT, Stack, State, command_in
from backbones.scripted.player import Move


def propose(scene: Scene, seed: int, most: int, length: int) -> tuple[Move, list[list[str]]]:
    """The player's next move, and at most ``most`` plans of at most ``length`` actions; its own is first."""
    own = decide(scene, seed)
    if command_in(own.text) is None:
        return own, [[own.text]]
    plans = [plan for way in _ways(scene, seed) if (plan := _plan(scene.state, way, length))]
    first = next((plan for plan in plans if plan[0] == own.text), [own.text])
    others = [plan for plan in plans if plan != first and len(plan) <= max(2, len(first))]
    distinct = dict.fromkeys(map(tuple, [first, *others]))
    return own, [list(plan) for plan in distinct][:most]


def _ways(scene: Scene, seed: int) -> Iterator[Way]:
    planner = Planner(scene.book, scene.state.stock)
    plan = planner.best(scene.target)
    if plan:
        yield plan.jobs[0].way
    yield from (plan.jobs[0].way for plan in tries(scene, planner, seed))


def _plan(state: State, way: Way, length: int) -> list[str]:
    """The actions of one way from here to its product in the inventory; nothing where they are too many."""
    if way.smelted:
        action = next_action(state, Job(way, 1))
        return [action] if action else []
    actions: list[str] = []
    while state.pattern != way.pattern and len(actions) < length:
        action = next_action(state, Job(way, 1))
        moved = _moved(state, action) if action else None
        if action is None or moved is None:
            return []
        actions.append(action)
        state = moved
    actions.append(move(OUTPUT, state.free, way.amount))
    return actions if len(actions) <= length else []


def _moved(state: State, action: str) -> State | None:
    """What lies where after a move in the inventory or the grid, but for what the grid gives then."""
    said = command_in(action)
    held = state.slots.get(said.source) if said else None
    if said is None or held is None or said.source == OUTPUT:
        return None
    slots: dict[str, Stack] = {slot: stack for slot, stack in state.slots.items() if slot != OUTPUT}
    there: Mapping[str, Stack] = state.slots
    before = there[said.target].quantity if said.target in there else 0
    slots[said.target] = Stack(held.item, before + said.quantity)
    if held.quantity > said.quantity:
        slots[said.source] = Stack(held.item, held.quantity - said.quantity)
    else:
        del slots[said.source]
    return State(slots)
