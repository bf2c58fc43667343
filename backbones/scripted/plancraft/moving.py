"""From a job to the next action: clear the grid, place, take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from backbones.scripted.plancraft.grids import CELLS, placements
from backbones.scripted.plancraft.planning import Job
from backbones.scripted.plancraft.reading import OUTPUT, STORES, State


def take(state: State) -> str:
    """Take what the grid gives, into an empty slot: it fits there whatever the size of a stack."""
    assert state.output
    return move(OUTPUT, state.free, state.output.amount)


def move(source: str, target: str, quantity: int) -> str:
    return f"move: from [{source}] to [{target}] with quantity {quantity}"


def smelt(source: str, target: str, quantity: int) -> str:
    return f"smelt: from [{source}] to [{target}] with quantity {quantity}"


def next_action(state: State, job: Job) -> str | None:
    """The next action of a job, or None where the state does not allow one."""
    if job.way.smelted:
        return _smelting(state, job)
    if state.pattern == job.way.pattern and state.output:
        return take(state)
    return _placing(state, job)


def _smelting(state: State, job: Job) -> str | None:
    source = _source(state, job.way.smelted, frozenset())
    if source is None:
        return None
    return smelt(source, state.free, min(job.times, state.slots[source].quantity))


def distance(state: State, pattern: str) -> int:
    """Moves from the grid as it is to a pattern."""
    return _nearest(frozenset(state.grid.items()), pattern)[0]


@lru_cache(maxsize=1024)
def _nearest(grid: frozenset[tuple[str, str]], pattern: str) -> tuple[int, dict[str, str]]:
    """The placement of a pattern that takes the fewest moves, and how many."""
    return min(((_cost(grid, there), there) for there in placements(pattern)), key=lambda found: found[0])


def _cost(grid: frozenset[tuple[str, str]], there: Mapping[str, str]) -> int:
    """One move per cell to fill and per cell to clear; a wrong item that fits elsewhere is one for both."""
    to_fill, to_clear = there.items() - grid, grid - there.items()
    if not to_fill or not to_clear:
        return len(to_fill) + len(to_clear)
    wanted = [item for _, item in to_fill]
    moved = 0
    for _, item in to_clear:
        if item in wanted:
            wanted.remove(item)
            moved += 1
    return len(to_fill) + len(to_clear) - moved


def _placing(state: State, job: Job) -> str | None:
    there = _nearest(frozenset(state.grid.items()), job.way.pattern)[1]
    wrong = [slot for slot, item in state.grid.items() if there.get(slot) != item]
    to_fill = [slot for slot in there if slot not in state.grid]
    for slot in wrong:
        goal = next((goal for goal in to_fill if there[goal] == state.grid[slot]), None)
        if goal:
            return move(slot, goal, state.slots[slot].quantity)
    for slot in to_fill:
        source = _source(state, there[slot], frozenset(there))
        if source:
            cells_left = sum(there[other] == there[slot] for other in to_fill)
            share = state.slots[source].quantity // cells_left if source in STORES else 1
            return move(source, slot, max(1, min(job.times, share)))
    if wrong:
        stack = state.slots[wrong[0]]
        return move(wrong[0], state.free, stack.quantity)
    return None


def _source(state: State, item: str, kept: frozenset[str]) -> str | None:
    """A slot to take an item from: the largest store, else a grid cell that can spare one."""
    stores = [slot for slot, stack in state.slots.items() if stack.item == item and slot in STORES]
    if stores:
        return max(stores, key=lambda slot: state.slots[slot].quantity)
    spare = [slot for slot in CELLS if slot in state.grid and state.grid[slot] == item]
    return next((slot for slot in spare if slot not in kept or state.slots[slot].quantity > 1), None)
