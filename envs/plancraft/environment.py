"""PlanCraft as an :class:`envs.protocol.Environment`: text only, without pictures.

Observations and outcomes are those of ``plancraft.simple.PlancraftGymWrapper`` with ``max_steps=30``
(tested action by action), with these differences:

* An empty action is malformed and costs a step; the wrapper re-observes for free.
* The 30th action is carried out and ends the episode; the wrapper says so at the 31st.
* After the end, ``step`` raises; the wrapper goes on answering.
* ``search`` draws its examples from the task and the step, so it is reproducible.

Validity of an action:

=========== ==================================================================================
malformed   no allowed action in the text, or one with a missing part, a slot that does not exist
            or that may not be a target (``[0]``), equal slots, or a quantity outside 1–64; the
            wrapper answers with "Only select actions from …" or "Format Error: …"
refused     a well-formed move or smelt that the table does not carry out: empty source, fewer
            items than asked for, target slot with another item or too full, no smelting recipe,
            smelting out of ``[0]``; a search for an item without recipe; ``impossible:`` where the
            task is possible is *valid*: carried out, only wrong
no_effect   never: every move and smelt that is carried out takes something from its source, and no
            recipe makes what it uses, so the slots always differ afterwards (tested)
=========== ==================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from envs.plancraft import package
from envs.plancraft.actions import ACTIONS, Malformed, Move, Search, Smelt, Stop, Think, parse
from envs.plancraft.package import Example
from envs.plancraft.recipes import recipe_book
from envs.plancraft.rules import rules
from envs.plancraft.search import NOT_FOUND, search_reply
from envs.plancraft.settings import PlancraftSettings
from envs.plancraft.slots import OUTPUT, SLOT_NAMES
from envs.plancraft.table import CraftingTable, Slots
from ocm.errors import EnvironmentFault, SpecError
from ocm.identity import generator
from ocm.types import Observation, Step, TaskRef, Validity

NAME = "plancraft"
STEP_LIMIT = 30
STOPPED = "Plancraft environment is terminate due to stop action"
"""The wrapper's words, misspelling included."""


class _Outcome(NamedTuple):
    """What one action led to."""

    text: str
    validity: Validity
    ended: bool = False
    success: bool = False


class PlancraftEnvironment:
    """One crafting table on which one task after another is played."""

    name = NAME
    deterministic = True
    step_limit = STEP_LIMIT

    def __init__(self, settings: PlancraftSettings | None = None) -> None:
        settings = settings or PlancraftSettings()
        optional = {"search": settings.search, "think": settings.think}
        self._actions = tuple(name for name in ACTIONS if optional.get(name, True))
        self._book = recipe_book()
        self._table = CraftingTable(self._book, package.stack_sizes())
        self._example: Example | None = None
        self._slots: Slots = {}
        self._steps = 0
        self.version = package.package_version()
        self.rules = rules(self._actions)

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        """The tasks of ``train``, ``val``, ``val.small``, ``test`` or ``test.small``.

        Raises:
            SpecError: the task set does not exist.
        """
        if task_set not in package.TASK_SETS:
            raise SpecError(f"{NAME} has no task set {task_set!r}; it has {', '.join(package.TASK_SETS)}")
        return [
            TaskRef(NAME, task_set, example.id, example.stratum)
            for example in package.examples(task_set).values()
        ]

    def reset(self, task: TaskRef) -> Observation:
        """Lay the task's items out; see the protocol.

        Raises:
            EnvironmentFault: the task is none of this environment's.
        """
        self._example = _example(task)
        self._slots = self._example.slots
        self._steps = 0
        return Observation(_objective(self._example.target), self._text(self._example))

    def step(self, action: str) -> Step:
        """Carry out one action; see the protocol.

        Raises:
            EnvironmentFault: no task is running.
        """
        example = self._example
        if example is None:
            raise EnvironmentFault("no task is running: call reset before step")
        self._steps += 1
        outcome = self._act(action, example)
        done = outcome.ended or self._steps >= self.step_limit
        if done:
            self._example = None
        reward = 1.0 if outcome.success else 0.0
        return Step(action, outcome.text, reward, done, outcome.success, outcome.validity)

    def close(self) -> None:
        """Forget the running task."""
        self._example = None

    @property
    def slots(self) -> Slots:
        """What lies where now."""
        return self._slots

    def _act(self, text: str, example: Example) -> _Outcome:
        match parse(text, self._actions):
            case Malformed(reply):
                return _Outcome(reply, Validity.MALFORMED)
            case Stop():
                return _Outcome(STOPPED, Validity.VALID, ended=True, success=example.impossible)
            case Think():
                return _Outcome("Ok", Validity.VALID)
            case Search(item):
                reply = search_reply(self._book, item, generator(NAME, example.id, self._steps, item))
                return _Outcome(reply, Validity.REFUSED if reply == NOT_FOUND else Validity.VALID)
            case (Move() | Smelt()) as transfer:
                return self._carry_out(transfer, example)

    def _carry_out(self, action: Move | Smelt, example: Example) -> _Outcome:
        after = self._table.carry_out(action, self._slots)
        if after is None:
            return _Outcome(self._text(example), Validity.REFUSED)
        self._slots = after
        success = _holds(after, example.target)
        return _Outcome(self._text(example), Validity.VALID, ended=success, success=success)

    def _text(self, example: Example) -> str:
        lines = [
            f"\n - {held.item} {SLOT_NAMES[slot]} quantity {held.quantity}"
            for slot, held in sorted(self._slots.items())
        ]
        return f"{_objective(example.target)}\ninventory:{''.join(lines)}"


def _example(task: TaskRef) -> Example:
    if task.task_set in package.TASK_SETS:
        example = package.examples(task.task_set).get(task.id)
        if example is not None:
            return example
    raise EnvironmentFault(f"{NAME} has no task {task.id!r} in task set {task.task_set!r}")


def _objective(target: str) -> str:
    return f"Craft an item of type: {target}"


def _holds(slots: Slots, item: str) -> bool:
    """Whether an item lies anywhere but in the output slot."""
    return any(held.item == item and slot != OUTPUT for slot, held in slots.items())
