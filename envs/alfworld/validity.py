"""Whether an action was carried out. The engine answers all that it does not carry out in the same words.

=========== ==================================================================================
malformed   the action's shape is that of none of the environment's templates, whatever things it
            names: another verb (``put … in``), capitals, two blanks, several lines
refused     the shape is right, but it is not possible here: the thing is not there, not in reach, not
            named so, a hand is full, a receptacle is closed
no_effect   accepted, but nothing changed: ``go to`` where one is already (the engine's "Nothing happens."
            is its answer to that too, for every receptacle of the same place), ``open`` of what is open,
            ``close`` of what is closed; and what the engine answers as if it had been of use: heating
            what is hot, cooling what is cold, cleaning what is clean, slicing what is sliced, using a
            lamp again (no lamp can be turned off: the engine says "You turn on" each time)
=========== ==================================================================================

``look``, ``inventory``, ``examine`` and ``help`` change nothing and are valid: they answer.

Spelling is the engine's: it is exact but for white space around the action.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ocm.types import Validity

NOTHING = "Nothing happens."
"""The engine's answer to every command that it does not carry out."""
_INFORMING = ("look", "inventory", "help", "examine")
_TEMPLATES = (
    *("look", "inventory", "help"),
    *("go to (.+)", "open (.+)", "close (.+)", "examine (.+)", "use (.+)"),
    *("take (.+) from (.+)", "move (.+) to (.+)", "slice (.+) with (.+)"),
    *("heat (.+) with (.+)", "clean (.+) with (.+)", "cool (.+) with (.+)"),
)
_TEMPLATE = re.compile("|".join(_TEMPLATES))


def validity(action: str, before: Collection[str], receptacles: Collection[str], changed: bool) -> Validity:
    """The validity of an action.

    Args:
        action: what the agent said.
        before: the commands that the engine would have carried out.
        receptacles: the names of all in the room.
        changed: whether other facts hold after it.
    """
    command = action.strip()
    if command in before:
        informing = command.partition(" ")[0] in _INFORMING
        return Validity.VALID if changed or informing else Validity.NO_EFFECT
    if not fits_a_template(command):
        return Validity.MALFORMED
    return Validity.NO_EFFECT if _holds_already(command, before, receptacles) else Validity.REFUSED


def fits_a_template(command: str) -> bool:
    """Whether the shape is that of an action, whatever things it names."""
    return bool(_TEMPLATE.fullmatch(command))


def _holds_already(command: str, before: Collection[str], receptacles: Collection[str]) -> bool:
    verb, _, thing = command.rpartition(" to ") if command.startswith("go to ") else command.partition(" ")
    match verb:
        case "go":  # a receptacle can be examined exactly where one stands before it
            return thing in receptacles and f"examine {thing}" in before
        case "open":
            return f"close {thing}" in before
        case "close":
            return f"open {thing}" in before
        case _:
            return False
