"""The crafting table's rules: what a move or a smelt does to the slots. Pure functions.

They follow ``PlancraftEnvironment.move_item`` and ``smelt_item`` of the package, without the picture
that the package repaints at each change.
"""

from __future__ import annotations

from collections.abc import Mapping

from envs.plancraft.actions import Move, Smelt
from envs.plancraft.package import Stack
from envs.plancraft.recipes import RecipeBook
from envs.plancraft.slots import GRID, OUTPUT

Slots = Mapping[int, Stack]
"""What lies where: slot index -> stack. Empty slots are absent."""


class CraftingTable:
    """Recipes and stack sizes; the slots are handed in and a new mapping comes out."""

    def __init__(self, book: RecipeBook, stack_sizes: Mapping[str, int]) -> None:
        self._book = book
        self._stack_sizes = stack_sizes

    def carry_out(self, action: Move | Smelt, slots: Slots) -> Slots | None:
        """The slots afterwards, or None when the action is not possible.

        What is possible always changes the slots: the source has less than before.
        """
        held = slots.get(action.source)
        if held is None or held.quantity < action.quantity:
            return None
        if isinstance(action, Move):
            # the output slot is emptied as a whole, whatever quantity was asked for
            quantity = held.quantity if action.source == OUTPUT else action.quantity
            return self._transfer(slots, action, Stack(held.item, quantity))
        product = self._book.smelted(held.item)
        if product is None or action.source == OUTPUT:
            return None
        return self._transfer(slots, action, Stack(product, action.quantity))

    def _transfer(self, slots: Slots, action: Move | Smelt, arriving: Stack) -> Slots | None:
        target = slots.get(action.target)
        if target and (
            target.item != arriving.item
            or target.quantity + arriving.quantity > self._stack_sizes[arriving.item]
        ):
            return None
        after = dict(slots)
        after[action.target] = Stack(arriving.item, arriving.quantity + (target.quantity if target else 0))
        _take(after, action.source, arriving.quantity)
        if action.source == OUTPUT:
            _use_ingredients(after, slots)
        if action.source in _TABLE or action.target in _TABLE:
            self._lay_out_result(after)
        return after

    def _lay_out_result(self, slots: dict[int, Stack]) -> None:
        grid = tuple(slots[slot].item if slot in slots else None for slot in GRID)
        result = self._book.crafted(grid)
        if result:
            slots[OUTPUT] = result
        else:
            slots.pop(OUTPUT, None)


_TABLE = range(GRID.stop)


def _use_ingredients(after: dict[int, Stack], before: Slots) -> None:
    """Take one from every grid slot that was filled when the result was laid out."""
    for slot in GRID:
        if slot in before:
            _take(after, slot, 1)


def _take(slots: dict[int, Stack], slot: int, quantity: int) -> None:
    held = slots[slot]
    if held.quantity > quantity:
        slots[slot] = Stack(held.item, held.quantity - quantity)
    else:
        del slots[slot]
