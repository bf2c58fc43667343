"""ScienceWorld as an :class:`envs.protocol.Environment`.

Observations and scores are those of the simulator, with these differences from the package's
``ScienceWorldEnv``:

* 100 actions end the episode, whatever they are. The package counts moves of the simulated time, of
  which ``wait`` takes eleven and ``look around`` none.
* ``reset task``, which undoes a failure, is refused and never reaches the simulator.
* After an ambiguity menu, anything but one of its numbers first closes the menu, so that no action is
  lost. Closing costs one tick of the simulated time.
* Text that is not one line of printable ASCII of reasonable length is answered in the simulator's own
  words for what it does not understand, and is not sent.
* An exception inside the simulator is an EnvironmentFault, not a failed task.

The reward is the simulator's score (0 to 1), or 0 when it is negative: the task can then no longer be
done, and the episode ends. Success is the whole score. Validity: :mod:`envs.scienceworld.validity`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from envs.scienceworld import menus, package
from envs.scienceworld.actions import NOT_UNDERSTOOD, RESET_REFUSED, readable, resets_task
from envs.scienceworld.rules import rules
from envs.scienceworld.settings import ScienceworldSettings
from envs.scienceworld.validity import validity
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import Observation, Step, TaskRef

if TYPE_CHECKING:
    from envs.scienceworld.simulator import Answer, Simulator

NAME = "scienceworld"
STEP_LIMIT = 100


class ScienceworldEnvironment:
    """One simulator on which one task after another is played; it starts at the first reset."""

    name = NAME
    deterministic = True
    step_limit = STEP_LIMIT

    def __init__(self, settings: ScienceworldSettings | None = None) -> None:
        self._settings = settings or ScienceworldSettings()
        self._simulator: Simulator | None = None
        self._last: Answer | None = None
        """Of the running task; None when no task runs."""
        self._choices = 0
        """Those of the open menu; 0 when none is open."""
        self._steps = 0
        self._names: tuple[str, ...] = ()
        """What the simulator simplifies in the running task."""
        self.version = package.package_version()
        self.rules = rules(self._settings)

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        """The tasks of ``train``, ``dev`` or ``test``, or of ``train.first5`` and so on.

        Raises:
            SpecError: the task set does not exist.
        """
        if task_set not in package.TASK_SETS:
            raise SpecError(f"{NAME} has no task set {task_set!r}; it has {', '.join(package.TASK_SETS)}")
        return [
            TaskRef(NAME, task_set, f"{task.name}/{variation}", task.name)
            for task in package.tasks().values()
            for variation in task.variations(task_set)
        ]

    def reset(self, task: TaskRef) -> Observation:
        """Load a task; see the protocol.

        Raises:
            EnvironmentFault: the task is none of this environment's, or the simulator failed.
        """
        self._last = None
        self._choices = self._steps = 0
        entry, variation = _variation(task)
        self._names = self._settings.names(electrical=entry.electrical)
        with self._closing_when_broken():
            simulator = self._started()
            goal = simulator.load(entry.name, variation, ",".join(self._names))
            self._last = simulator.step("look around")
        return Observation(goal, self._last.text)

    def step(self, action: str) -> Step:
        """Carry out one action; see the protocol.

        Raises:
            EnvironmentFault: the simulator failed, or no task is running.
        """
        if self._last is None:
            raise EnvironmentFault("no task is running: call reset before step")
        with self._closing_when_broken():
            answer = self._answer(readable(action), self._last)
        self._steps += 1
        self._choices = menus.choices(answer.text)
        done = answer.ended or self._steps >= self.step_limit
        self._last = None if done else answer
        return Step(
            action=action,
            observation=answer.text,
            reward=max(0, answer.score) / 100,
            done=done,
            success=answer.score == 100,
            validity=validity(action, answer.text, self._names),
        )

    def close(self) -> None:
        """End the simulator. The next reset starts a new one."""
        self._last = None
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    @contextmanager
    def _closing_when_broken(self) -> Iterator[None]:
        """After a fault, or an interruption in mid-call, only a new simulator can be trusted."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _started(self) -> Simulator:
        if self._simulator is None:
            # imports py4j, which the driver, where only tasks and rules are asked for, does without
            from envs.scienceworld.simulator import Simulator

            self._simulator = Simulator()
        return self._simulator

    def _answer(self, text: str | None, last: Answer) -> Answer:
        """The simulator's answer to a readable text, or our own to what must not reach it."""
        assert self._simulator is not None
        if self._choices and not (text is not None and menus.answers(text, self._choices)):
            last = self._simulator.step(menus.CANCEL)
            # the tick may have decided the task, and a blank was meant to cancel
            if last.ended or text == menus.CANCEL:
                return last
        if text is None:
            return last._replace(text=NOT_UNDERSTOOD)
        if resets_task(text):
            return last._replace(text=RESET_REFUSED)
        return self._simulator.step(text)


def _variation(task: TaskRef) -> tuple[package.Task, int]:
    """The task and the variation that ``boil/21`` names."""
    name, _, number = task.id.rpartition("/")
    entry = package.tasks().get(name)
    if task.task_set in package.TASK_SETS and entry is not None:
        for variation in entry.variations(task.task_set):
            if number == str(variation):
                return entry, variation
    raise EnvironmentFault(
        f"{NAME} has no task {task.id!r} in task set {task.task_set!r}; `ocm tasks {NAME}` lists all"
    )
