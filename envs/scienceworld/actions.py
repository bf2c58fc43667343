"""The action language: what may be sent to the simulator, and the templates that it knows.

The simulator lower-cases its input, drops ``a``, ``an`` and ``the``, and takes runs of white space for
one blank; what remains must be a verb of a template with the names of things that are in reach.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from envs.scienceworld.settings import NO_ELECTRICAL, TELEPORT

NOT_UNDERSTOOD = "No known action matches that input."
"""The simulator's words."""
RESET_REFUSED = "Resetting the task is not allowed."
"""Ours: the simulator would do it."""
MAX_LENGTH = 500
"""Characters; four times the longest action that the simulator itself proposes."""
_BLANKS = re.compile(r"\s+", re.ASCII)
"""Java's white space."""
_ARTICLES = frozenset(("a", "an", "the"))


class Template(NamedTuple):
    """One action. With ``links``, it is *verb* thing *link* thing."""

    verbs: tuple[str, ...]
    things: int
    links: tuple[str, ...] = ()


_INTO = ("in", "into")
_ELECTRICAL = (Template(("connect",), 2, ("to", *_INTO)), Template(("disconnect",), 1))
_ORACLE = (Template(("teleport to", "teleport into", "teleport"), 1),)
_ALWAYS = (
    Template(("look around", "look", "inventory", "task", "wait", "wait1", "help", "objects"), 0),
    Template(("look at", "look on", "examine", "look in", "read", "focus on", "focus"), 1),
    Template(("open", "close", "activate", "turn on", "deactivate", "turn off", "flush"), 1),
    Template(("pick up", "get", "take", "put down", "drop", "eat", "consume", "mix", "stir"), 1),
    Template(("go to", "go through", "go into", "go", "walk to", "walk through"), 1),
    Template(("move to", "move through", "move into"), 1),
    Template(("move", "put"), 2, ("to", "on", *_INTO)),
    Template(("pour",), 2, ("to", "on", *_INTO)),
    Template(("dunk",), 2, _INTO),
    Template(("use",), 2, ("on", "with")),
)


def templates(simplifications: Collection[str]) -> tuple[Template, ...]:
    """The simulator's templates under these simplifications, ``reset task`` left out."""
    return (
        *_ALWAYS,
        *(() if NO_ELECTRICAL in simplifications else _ELECTRICAL),
        *(_ORACLE if TELEPORT in simplifications else ()),
    )


def readable(action: str) -> str | None:
    """The action on one line, or None when the simulator could make nothing of it.

    Things have ASCII names (tested), so nothing else can be understood; and some other letters turn
    into ASCII when they are lower-cased.
    """
    text = _BLANKS.sub(" ", action).strip(" ")
    return text if len(text) <= MAX_LENGTH and text.isascii() and text.isprintable() else None


def resets_task(text: str) -> bool:
    """Whether the simulator would understand ``reset task``, in whatever spelling."""
    return _essence(text) == "reset task"


def fits_a_template(action: str, simplifications: Collection[str]) -> bool:
    """Whether the shape is that of an action, whatever things it names."""
    text = readable(action)
    return text is not None and bool(_pattern(frozenset(simplifications)).fullmatch(_essence(text)))


def _essence(text: str) -> str:
    return " ".join(word for word in text.lower().split() if word not in _ARTICLES)


@cache
def _pattern(simplifications: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_shape, templates(simplifications))))


def _shape(template: Template) -> str:
    verbs = "|".join(template.verbs)
    if template.links:
        return f"(?:{verbs}) .+ (?:{'|'.join(template.links)}) .+"
    return f"(?:{verbs}) .+" if template.things else f"(?:{verbs})"
