"""From facts to Python source: the object model K_o and the procedures K_p that the stand-in writes.

K_o has a core (`CORE`): things, places, and one who acts on them. Each kind is a class of its own with
what was seen of it. A procedure exercises one observation.
"""

from __future__ import annotations

import builtins
import json
import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from backbones.scripted.alfworld.facts import EXAMINE, NAMELESS, NEAR, PUT, TWO, Kind
from backbones.scripted.alfworld.memory import CORE_CLASSES, PREFIX

FIND, AT = "procedures/find_{kind}.py", "procedures/at_{kind}.py"
_NAMED = 2

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


class Way(NamedTuple):
    """A procedure on something that has no effect."""

    path: str
    summary: str
    example: str = ""


WAYS: Mapping[str, Way] = {
    TWO: Way(
        "procedures/carry_one_thing.py",
        "One thing is carried at a time: bring it before you take another.",
        "first, second = Item(), Item()\nagent = Agent(Place(second), first)\n"
        "assert agent.take(second) is None\nassert agent.move(first) == agent.at\n"
        "assert agent.take(second) == second\n",
    ),
    NEAR: Way(
        "procedures/look_within_reach.py",
        "Where `go to` has no effect, the place may be in reach already: examine or open it.",
    ),
    PUT: Way("procedures/move_things.py", "Things are put down with `move THING to PLACE`."),
    NAMELESS: Way("procedures/name_things.py", "Things and places are named whole, with their number."),
    EXAMINE: Way(
        "procedures/use_a_light.py", "To look at a thing under a light, carry it there and use the light."
    ),
}


def class_name(kind: str) -> str:
    """The class of a kind."""
    name = kind.capitalize()
    return f"{PREFIX}{name}" if name in RESERVED else name


def kind_class(name: str, kind: Kind) -> str:
    """The class of a kind with what was seen of it."""
    base = "Place" if kind.is_place else "Item"
    return (
        f"class {class_name(name)}({base}):\n"
        f'    """{name.capitalize()}: {_about(kind)}."""\n\n{_tables(kind, "    ")}'
    )


def kind_procedure(name: str, kind: Kind) -> str:
    """A procedure that stands alone: what was seen of a kind, where there is no K_o."""
    checks = [f"assert times({place!r}) > 0" for place in kind.seen]
    checks += [f"assert can({verb!r}) == {verb in kind.treats}" for verb in sorted(kind.treats | kind.fails)]
    return (
        f'"""{name.capitalize()}: {_about(kind)}."""\n\nkind = "{name}"\n{_tables(kind)}\n\n'
        'def times(place):\n    """In how many episodes it was seen at a kind of place."""\n'
        f"    return {'seen.get(place, 0)' if kind.seen else '0'}\n\n\n"
        'def can(verb):\n    """Whether a change worked on a thing carried here."""\n'
        f"    return {'verb in treats' if kind.treats else 'False'}\n\n\n" + "\n".join(checks) + "\n"
    )


def no_effect(in_vain: Collection[str]) -> str:
    """The table of what has no effect."""
    return "NO_EFFECT = (\n" + "".join(f'    "{what}",\n' for what in sorted(in_vain)) + ")\n"


def no_effect_procedure(in_vain: Collection[str]) -> str:
    """The same where there is no K_o."""
    checks = "".join(f'assert in_vain("{what}") == True\n' for what in sorted(in_vain))
    return f'"""What has no effect."""\n\n{no_effect(in_vain)}\n\n{CORE["in_vain"]}\n\n{checks}'


def way_procedure(what: str) -> str:
    """A procedure on something that has no effect."""
    way = WAYS[what]
    names = "Agent, Item, Place, in_vain" if way.example else "in_vain"
    check = f'assert in_vain("{what}") == True\n'
    return f'"""{way.summary}"""\n\nfrom objects import {names}\n\n{check}{way.example}'


def find_procedure(kind: str, place: str) -> str:
    """A procedure that exercises where a kind was seen."""
    name = class_name(kind)
    return (
        f'"""Find {kind}: it was seen at {place}."""\n\nfrom objects import {name}\n\n'
        f'assert {name}.times("{place}") > 0\n'
    )


def treat_procedure(verb: str, place: str) -> str:
    """A procedure that exercises a change that had an effect."""
    name = class_name(place)
    return (
        f'"""{verb.capitalize()} a thing: carry it to {place}, then `{verb} THING with PLACE`."""\n\n'
        f"from objects import Agent, Item, {name}\n\nthing = Item()\nagent = Agent({name}(), thing)\n"
        f'assert agent.treat("{verb}", thing) == "{verb}ed"\n'
    )


def open_procedure(place: str) -> str:
    """A procedure that exercises a place that was found closed."""
    name = class_name(place)
    return (
        f'"""Open {place}: it may be closed at first, and hides what is in it."""\n\n'
        f"from objects import Agent, Item, {name}\n\nthing = Item()\nagent = Agent({name}(thing))\n"
        "assert agent.take(thing) is None\nassert agent.open() == agent.at\n"
        "assert agent.take(thing) == thing\n"
    )


def _tables(kind: Kind, indent: str = "") -> str:
    lines = []
    if kind.seen:
        lines.append(f"seen = {json.dumps(dict(_ranked(kind)))}")
    if kind.can_close:
        lines.append("can_close = True")
    lines += [
        f"{name} = {_tuple(verbs)}"
        for name, verbs in (("treats", kind.treats), ("fails", kind.fails))
        if verbs
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def _tuple(verbs: Collection[str]) -> str:
    listed = ", ".join(json.dumps(verb) for verb in sorted(verbs))
    return f"({listed},)" if len(verbs) == 1 else f"({listed})"


def _ranked(kind: Kind) -> list[tuple[str, int]]:
    return sorted(kind.seen.items(), key=lambda item: (-item[1], item[0]))


def _about(kind: Kind) -> str:
    parts = [f"seen at {_some(place for place, _ in _ranked(kind))}"] if kind.seen else []
    parts += [f"can {', '.join(sorted(kind.treats))}"] if kind.treats else []
    parts += [f"cannot {', '.join(sorted(kind.fails))}"] if kind.fails else []
    parts += ["can be closed"] if kind.can_close else []
    return "; ".join(parts) or "nothing is known"


def _some(names: Iterable[str]) -> str:
    """A few names, and how many more there are."""
    all_ = list(names)
    more = f" and {len(all_) - _NAMED} more" if len(all_) > _NAMED else ""
    return f"{', '.join(all_[:_NAMED])}{more}"
