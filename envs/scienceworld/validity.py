"""Whether an action was carried out, from the simulator's answer: it has no flag for it.

The forms are those of the simulator's code, checked against many thousand recorded answers
(``python -m tests.envs.scienceworld_messages``).

=========== ==================================================================================
malformed   not understood, and the action's shape is that of no template
refused     not understood though the shape is right (it names what is not there or out of reach); an
            ambiguity menu; a condition that does not hold; ``reset task``
no_effect   accepted, but nothing changed: already open, closed, on, off, flushing, burning, held or
            put down; a mixture that gives nothing new
=========== ==================================================================================

Two answers do not tell: picking up what is held already ("You move the cup to the inventory.") and
disconnecting what is connected to nothing are answered as if they had been of use, and are valid.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from envs.scienceworld.actions import NOT_UNDERSTOOD, RESET_REFUSED, fits_a_template
from ocm.types import Validity


def validity(action: str, observation: str, simplifications: Collection[str] = ()) -> Validity:
    """The validity of an action that was answered so. An answer of no known form is valid.

    Args:
        action: what the agent said.
        observation: the answer to it.
        simplifications: those of the running task; they decide which templates there are.
    """
    if observation == NOT_UNDERSTOOD:
        return Validity.REFUSED if fits_a_template(action, simplifications) else Validity.MALFORMED
    return form(observation) or Validity.VALID


def form(observation: str) -> Validity | None:
    """The validity that an answer's own form tells, or None for what only describes things."""
    found = _PATTERN.match(observation)
    return Validity(found.lastgroup) if found and found.lastgroup else None


FORMS: Mapping[Validity, tuple[str, ...]] = {
    Validity.NO_EFFECT: (
        "The … is already open.",
        "The … is already closed.",
        "The … is already activated.",
        "The … is already deactivated.",
        "The … is already on fire.",
        "That is already flushing.",
        "That object already appears to be in the inventory.",
        "That object does not appear to be in the inventory.",
        "Mixing the contents of the … does not appear to produce anything new.",
    ),
    Validity.REFUSED: (
        RESET_REFUSED,
        "Ambiguous request: ……",
        "Unknown action. ……",
        "I'm not sure what that means",
        "I'm not sure how to use the ….",
        "I'm not sure how to use those two things together.",
        "I'm not sure how to pour a solid.",
        "It's not clear how to …",
        "Its not clear how to go to…",
        "The … is not something that can be activated.",
        "The … appears broken, and can't be activated or deactivated.",
        "The … is not closeable.",
        "The … is not openable.",
        "The … is not moveable.",
        "The … is not movable.",
        "The … is not open.",
        "The … is locked.",
        "The … is not currently passable.",
        "The … is not a container.",
        "The … is not edible.",
        "The … is not flammable.",
        "That is not flammable.",
        "The … does not contain any liquids to dunk into.",
        "The liquids in … aren't able to move.",
        "The … isn't open, so you can't see inside.",
        "The … is empty, so there's nothing to pour.",
        "The … can't be poured out because it doesn't appear to be in a container.",
        "The … can't be poured out, because it's not open.",
        "The door doesn't appear to go anywhere.",
        "Something can't be connected to itself.",
        "… is already connected, and must be disconnected before it can be connected to something else",
        "Connections must specify specific points of contact on …",
        "You must disconnect entire objects …",
        "You can't dunk something into itself.",
        "You can't move something into itself.",
        "You can't pick up a liquid directly. …",
        "You can't pick up a gas directly.",
        "You can't pour a gas directly.",
        "You can't chop a seed.",
        "That can't be moved there.",
        "That can't be moved there, because ….",
        "That container is empty, so there are no items to mix.",
        "There is only one thing (…)",
        "That thing doesn't appear to have a temperature that the thermometer can read.",
        "ERROR: The … does not appear to be in a location.",
    ),
    Validity.VALID: (
        "You move to the ….",
        "You move through the … to the ….",
        "You teleport to the ….",
        "You move the … to the ….",
        "You pour the … into the ….",
        "You dunk the … in the …, moving the liquids (…) to the ….",
        "You focus on the ….",
        "You decide to wait for … iterations.",
        "You chop down the …, creating wood.",
        "You hit the … with the axe, causing it to break.",
        "You dig a hole in the ground, and place the soil nearby.",
        "You don't feel well.",
        "The … was delicious.",
        "The … catches fire.",
        "The lighter heats up the … a small amount.",
        "The time reads … ticks.",
        "The … is now open.",
        "The … is now closed.",
        "The … is now activated.",
        "The … is now deactivated.",
        "The … is now flushing.",
        "… is now connected to …",
        "… has been disconnected",
        "… mix to produce ….",
        "the thermometer measures a temperature of … degrees celsius",
        "In your inventory, you see:……",
        "Inside the … is: ……",
        "There is nothing in the ….",
        "This room is called the ……",
        "This outside location is called the ……",
        "Task Description:……",
        "Task description:……",
        "Possible actions: ……",
        "Possible object references: ……",
    ),
}
"""What the simulator says; ``…`` stands for anything on one line, ``……`` for any lines."""


def expression(form: str) -> str:
    """A form as a regular expression."""
    return re.escape(form).replace("……", r"[\s\S]*").replace("…", ".+")


_DISCONNECTING = r"(?:\(disconnecting .+?\)\s*)*"
"""Comes before whatever moves a thing that was wired up."""
_PATTERN = re.compile(
    _DISCONNECTING
    + "(?:"
    + "|".join(f"(?P<{validity}>{'|'.join(map(expression, forms))})" for validity, forms in FORMS.items())
    + r")\s*\Z"
)
