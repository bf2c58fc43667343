"""From facts to the procedures K_p that exercise them: one observation each, where there is a K_o."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from backbones.scripted.alfworld.core import class_name
from backbones.scripted.alfworld.facts import EXAMINE, NAMELESS, NEAR, PUT, TWO


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
