"""Whether an action was carried out, from the simulator's answer: it has no flag for it.

The messages are those of the simulator's code (``scienceworld/actions``), checked against many
thousand recorded answers (``tests/envs/scienceworld_messages.py``).

=========== ==================================================================================
malformed   not understood, and the action's shape is none of the templates'
refused     not understood, though the shape is right (it names what is not there or not in reach);
            an ambiguity menu; a condition that does not hold; ``reset task``
no_effect   accepted, but nothing changed: already open, closed, on, off, flushing, held or put down;
            mixing that gives nothing new
=========== ==================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Collection

from envs.scienceworld.actions import NOT_UNDERSTOOD, RESET_REFUSED, fits_a_template
from ocm.types import Validity


def validity(action: str, observation: str, simplifications: Collection[str] = ()) -> Validity:
    """The validity of an action that was answered so; an answer of no known form is valid."""
    if observation == NOT_UNDERSTOOD:
        return Validity.REFUSED if fits_a_template(action, simplifications) else Validity.MALFORMED
    if _NO_EFFECT.match(observation):
        return Validity.NO_EFFECT
    return Validity.REFUSED if _REFUSED.match(observation) else Validity.VALID


def _any_of(*forms: str) -> re.Pattern[str]:
    """Matches a whole answer; ``…`` stands for anything on one line, ``……`` for any lines."""
    escaped = (re.escape(form).replace("……", r"[\s\S]*").replace("…", ".*") for form in forms)
    return re.compile(rf"(?:{'|'.join(escaped)})\Z")


_NO_EFFECT = _any_of(
    "The … is already open.",
    "The … is already closed.",
    "The … is already activated.",
    "The … is already deactivated.",
    "That is already flushing.",
    "That object already appears to be in the inventory.",
    "That object does not appear to be in the inventory.",
    "Mixing the contents of the … does not appear to produce anything new.",
)
_REFUSED = _any_of(
    RESET_REFUSED,
    "Ambiguous request:……",
    "Unknown action.……",
    "I'm not sure …",
    "It's not clear …",
    "Its not clear …",
    "The … is not something that can be activated.",
    "The … appears broken, and can't be activated or deactivated.",
    "The … is not closeable.",
    "The … is not openable.",
    "The … is not moveable.",
    "The … is not movable.",
    "The … is not open.",
    "The … is not a container.",
    "The … is not edible.",
    "The … does not contain any liquids to dunk into.",
    "The liquids in … aren't able to move.",
    "The … isn't open, so you can't see inside.",
    "The … is empty, so there's nothing to pour.",
    "The … can't be poured out because it doesn't appear to be in a container.",
    "The … can't be poured out, because it's not open.",
    "Something can't be connected to itself.",
    "… is already connected, and must be disconnected before it can be connected to something else",
    "Connections must specify specific points of contact on …",
    "You must disconnect entire objects …",
    "You can't …",
    "That can't be moved there……",
    "The door doesn't appear to go anywhere.",
)
