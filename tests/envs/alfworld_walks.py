"""Seeded random walks through ALFWorld games: half of the actions are possible, half are mistakes, and
one in ten is the last one again.

A mistake is what models do: a template with things that are there but not in reach, an object where a
receptacle should be, the verb of older versions, capitals, prose.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unittest.mock import patch

from envs.alfworld import environment as played
from envs.alfworld.engine import Scene
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.validity import validity
from ocm.types import Step, TaskRef

STEPS = 40
_NAME = re.compile(r"[a-z]+ \d+")
_ONE = ("go to", "open", "close", "examine", "use")
_TWO = (
    ("take", "from"),
    ("move", "to"),
    ("heat", "with"),
    ("clean", "with"),
    ("cool", "with"),
    ("slice", "with"),
)
_CHANGE = re.compile(r"heat|cool|clean|slice|use|take")
_APPLIANCE = re.compile(r"go to (microwave|fridge|sinkbasin)")
ODD = (
    "",
    "  ",
    "think: where is it?",
    "Look",
    "LOOK",
    "look around",
    "go to the nearest cabinet",
    "go  to drawer 1",
    "goto drawer 1",
    "put apple 1 in/on countertop 1",
    "open drawer 1\nopen drawer 2",
    "open",
    "take apple 1",
    "take apple from table",
    "move to sinkbasin 1",
    "examine",
    " inventory ",
    "help me",
    "wait",
    "\x00",
    "look\x1b[2J",
    "öffne schublade 1",
    "🥔",
    "go to " + "very far " * 2000,
)


class Moved(NamedTuple):
    """One action of a walk: what there was before it, and its outcome."""

    before: Scene
    step: Step
    changed: bool
    """Whether other facts held after it."""


def wander(
    environment: AlfworldEnvironment, task: TaskRef, draw: random.Random, steps: int = STEPS
) -> Iterator[Moved]:
    """Play a game at random; ends early where it is won."""
    environment.reset(task)
    action = "look"
    for _ in range(steps):
        before = environment._scene
        assert before is not None
        action = action if draw.random() < 0.1 else choose(before, draw)
        with patch.object(played, "validity", wraps=validity) as heard:
            step = environment.step(action)
        yield Moved(before, step, heard.call_args.args[3])
        if step.done:
            return


def choose(scene: Scene, draw: random.Random) -> str:
    """The next action."""
    kind = draw.random()
    if kind < 0.5:
        return _possible(scene, draw)
    if kind < 0.6:
        return draw.choice(ODD)
    receptacles = sorted(scene.receptacles)
    things = sorted(set(_NAME.findall(" ".join(sorted(scene.commands)))) | scene.receptacles)
    if kind < 0.8:
        return f"{draw.choice(_ONE)} {draw.choice(things)}"
    if kind < 0.9:
        return f"{draw.choice(_ONE)} {draw.choice(_near(scene, receptacles))}"
    verb, link = draw.choice(_TWO)
    return f"{verb} {draw.choice(things)} {link} {draw.choice(_near(scene, things))}"


def _possible(scene: Scene, draw: random.Random) -> str:
    """Changing a thing, or going where that is done, is as likely as all else together."""
    for pattern in (_CHANGE, _APPLIANCE):
        wanted = sorted(filter(pattern.match, scene.commands))
        if wanted and draw.random() < 0.5:
            return draw.choice(wanted)
    verb = draw.choice(sorted({command.partition(" ")[0] for command in scene.commands}))
    return draw.choice(sorted(command for command in scene.commands if command.partition(" ")[0] == verb))


def _near(scene: Scene, things: Sequence[str]) -> Sequence[str]:
    return [thing for thing in things if f"examine {thing}" in scene.commands] or things
