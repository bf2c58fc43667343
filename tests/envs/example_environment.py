"""Lamps: light every lamp of a dark corridor. An example of an environment, whole."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ocm.errors import EnvironmentFault, SpecError
from ocm.spec import Model
from ocm.types import Observation, Step, TaskRef, Validity

NAME = "lamps"
ACTIONS = ("look around", "go east", "go west", "light lamp")
CORRIDORS = {"two-rooms": (2, 0), "three-rooms": (3, 1), "six-rooms": (6, 0), "seven-rooms": (7, 3)}
"""Number of rooms, and the one where the task begins, by task id."""
RULES = """You walk through a corridor of rooms, from west to east, each with a lamp.

Actions: look around, go east, go west, light lamp"""


class LampsSettings(Model):
    """What a sweep may set; `ocm tasks lamps --settings` shows the texts below the fields."""

    plan: bool = False
    """Tell at the beginning how many rooms there are."""


class LampsEnvironment:
    """A corridor; ``lit`` holds the rooms whose lamp is burning."""

    name = NAME
    version = "1"
    deterministic = True
    rules = RULES
    step_limit = 20

    def __init__(self, settings: LampsSettings) -> None:
        self._plan = settings.plan
        self._task: TaskRef | None = None

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        if task_set != "all":
            raise SpecError(f"{NAME} has no task set {task_set!r}; it has all")
        return [
            TaskRef(NAME, task_set, name, "short" if rooms < 4 else "long")
            for name, (rooms, _) in CORRIDORS.items()
        ]

    def reset(self, task: TaskRef) -> Observation:
        self._task = None
        if task not in self.tasks("all"):
            raise EnvironmentFault(f"{NAME} has no task {task.id!r}; `ocm tasks {NAME}` lists all")
        self._task = task
        self._rooms, self._at = CORRIDORS[task.id]
        self._lit: set[int] = set()
        self._steps = 0
        plan = f" There are {self._rooms} rooms." if self._plan else ""
        return Observation("Light every lamp.", f"{self._sight()}{plan}")

    def step(self, action: str) -> Step:
        if self._task is None:
            raise EnvironmentFault("no task is running: call reset before step")
        self._steps += 1
        validity, text = self._act(action.strip())
        reward = len(self._lit) / self._rooms
        done = reward == 1 or self._steps == self.step_limit
        if done:
            self._task = None
        return Step(action, text, reward, done, reward == 1, validity)

    def close(self) -> None:
        self._task = None

    def _act(self, action: str) -> tuple[Validity, str]:
        if action == "look around":
            return Validity.VALID, self._sight()
        if action == "light lamp":
            validity = Validity.NO_EFFECT if self._at in self._lit else Validity.VALID
            self._lit.add(self._at)
            return validity, "The lamp is burning."
        if action not in ACTIONS:
            return Validity.MALFORMED, "You can look around, go east, go west or light the lamp."
        room = self._at + (1 if action == "go east" else -1)
        if not 0 <= room < self._rooms:
            return Validity.REFUSED, "There is a wall."
        self._at = room
        return Validity.VALID, self._sight()

    def _sight(self) -> str:
        return (
            f"You are in room {self._at + 1}. Its lamp is {'burning' if self._at in self._lit else 'dark'}."
        )


def probe(seen: Sequence[str], draw: random.Random) -> str:
    """What `ocm tasks lamps --check` does: any action. Others would read what is in ``seen``."""
    return draw.choice(ACTIONS)
