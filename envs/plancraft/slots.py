"""Slots by index and by name: 0 is the output ``[0]``, 1–9 the grid ``[A1]``…``[C3]``, 10–45 the
inventory ``[I1]``…``[I36]``."""

from __future__ import annotations

OUTPUT = 0
GRID = range(1, 10)
SLOT_NAMES = (
    "[0]",
    *(f"[{row}{column}]" for row in "ABC" for column in "123"),
    *(f"[I{n}]" for n in range(1, 37)),
)
"""The name of every slot, by index."""
_INDEXES = {name: index for index, name in enumerate(SLOT_NAMES)}


def slot_index(name: str) -> int | None:
    """The index of a bracketed name, or None when it is no name of a slot.

    As in the package, ``[I37]``…``[I99]`` are names of slots that do not exist: their index is past
    the last one.
    """
    if name in _INDEXES:
        return _INDEXES[name]
    number = name[2:-1]
    if name[1] != "I" or not 1 <= len(number) <= 2 or number[0] == "0":
        return None
    return int(number) + 9
