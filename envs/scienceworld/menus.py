"""Ambiguity menus: the simulator's question which of several objects an action means.

::

    Ambiguous request: Please enter the number for the action you intended (or blank to cancel):
    0:	look at door (to kitchen, in bathroom)
    1:	look at door (to hallway, in bathroom)

While a menu is open, the simulator takes the next input for its answer, whatever it is: an action would
be lost, and the world would go on by one tick.
"""

from __future__ import annotations

import re

CANCEL = ""
"""The input that closes a menu. It costs a tick of the simulator's time."""
_OPENING = "Ambiguous request:"
_CHOICE = re.compile(r"^\d+:\t", re.MULTILINE)


def choices(observation: str) -> int:
    """The number of choices of the menu that this answer opens, 0 when it opens none."""
    return len(_CHOICE.findall(observation)) if observation.startswith(_OPENING) else 0


def answers(text: str, count: int) -> bool:
    """Whether a text is the number of one of ``count`` choices."""
    return text.isascii() and text.isdigit() and len(text) < 10 and int(text) < count
