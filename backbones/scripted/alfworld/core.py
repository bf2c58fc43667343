"""The core of K_o that the stand-in writes: things, places, and one who acts on them.

Beyond what the words say (what is closed must be opened before its things are taken), the mechanisms
forbid nothing of themselves: they ask what was seen to have no effect.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping

from backbones.scripted.alfworld.memory import CORE_CLASSES, PREFIX

CORE: Mapping[str, str] = {
    "Item": '''class Item:
    """A kind of thing: where it was seen, and what was done to it."""

    # kind of place -> in how many episodes
    seen = {}

    def __init__(self):
        self.state = set()

    @classmethod
    def times(cls, place):
        """In how many episodes it was seen at a kind of place."""
        return cls.seen.get(place, 0)

    @classmethod
    def places(cls):
        """Kinds of places where it was seen, the most frequent first."""
        return sorted(cls.seen, key=lambda place: -cls.seen[place])
''',
    "Place": '''class Place(Item):
    """A kind of place: whether it can be closed, and which changes work there."""

    can_close = False
    treats = ()
    fails = ()

    def __init__(self, *things):
        super().__init__()
        self.things = list(things)
        self.is_closed = self.can_close

    @classmethod
    def can(cls, verb):
        """Whether a change worked on a thing carried here; None where it was not tried."""
        if verb in cls.treats:
            return True
        return False if verb in cls.fails else None
''',
    "Agent": '''class Agent:
    """Where one stands and what one carries. An action gives None where it has no effect."""

    def __init__(self, at, *held):
        self.at = at
        self.held = list(held)

    def open(self):
        """Open the place: only then its things can be seen and taken."""
        self.at.is_closed = False
        return self.at

    def take(self, thing):
        """Take a thing from the place."""
        if self.at.is_closed or thing not in self.at.things:
            return None
        if self.held and in_vain("take a second thing"):
            return None
        self.at.things.remove(thing)
        self.held.append(thing)
        return thing

    def move(self, thing):
        """Move a carried thing to the place."""
        if self.at.is_closed or thing not in self.held:
            return None
        self.held.remove(thing)
        self.at.things.append(thing)
        return self.at

    def treat(self, verb, thing):
        """Change a carried thing with the place: its new state."""
        if thing not in self.held or not self.at.can(verb):
            return None
        thing.state.add(f"{verb}ed")
        return f"{verb}ed"
''',
    "in_vain": '''def in_vain(what):
    """Whether something was seen to have no effect."""
    return what in NO_EFFECT
''',
}
RESERVED = frozenset({*CORE_CLASSES, *dir(builtins), *keyword.kwlist})


def class_name(kind: str) -> str:
    """The class of a kind."""
    name = kind.capitalize()
    return f"{PREFIX}{name}" if name in RESERVED else name
