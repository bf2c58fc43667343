"""ALFWorld as an :class:`envs.protocol.Environment`: the text engine, one game after another.

Observations and outcomes are those of the package's engine, with these differences:

* The first observation is without its first paragraph, "-= Welcome to TextWorld, ALFRED! =-".
* The 50th action is carried out and ends the episode; after the end, ``step`` raises.
* White space around an answer is removed.

Success is the engine's ``won``; the reward is 1 when it is won, and 0 before. Nobody asks the engine for
plans, and the walkthrough that the data set's files hold is not handed to it. Validity:
:mod:`envs.alfworld.validity`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from envs.alfworld import dataset, own, package
from envs.alfworld.game import Game, read_game, task_type
from envs.alfworld.settings import AlfworldSettings
from envs.alfworld.validity import validity
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import Observation, Step, TaskRef

if TYPE_CHECKING:
    from envs.alfworld.engine import Engine, Scene

NAME = "alfworld"
STEP_LIMIT = 50
OWN = "own"
TASK_SETS = (*dataset.TASK_SETS, OWN)
GOAL = "Your task is to: "
WELCOME = "-= Welcome to TextWorld, ALFRED! =-"


class AlfworldEnvironment:
    """One engine on which one game after another is played; it starts at the first reset."""

    name = NAME
    deterministic = True
    step_limit = STEP_LIMIT

    def __init__(self, settings: AlfworldSettings | None = None) -> None:
        """Start nothing yet.

        Raises:
            SpecError: ALFWorld is not installed.
        """
        self.version = package.package_version()
        self.rules = (files("envs.alfworld") / "rules.md").read_text("utf-8").strip()
        self._engine: Engine | None = None
        self._scene: Scene | None = None
        """Of the running game; None when no game runs."""
        self._steps = 0

    def tasks(self, task_set: str) -> Sequence[TaskRef]:
        """The games of ``train``, ``valid_seen``, ``valid_unseen``, or ``own``: a few that come with this
        project and need no data set. Sorted by id; the stratum is the type of task.

        Raises:
            SpecError: the task set does not exist, or the data set is not there.
        """
        if task_set not in TASK_SETS:
            raise SpecError(f"{NAME} has no task set {task_set!r}; it has {', '.join(TASK_SETS)}")
        ids = own.game_ids() if task_set == OWN else dataset.game_ids(task_set, dataset.data_folder())
        return [TaskRef(NAME, task_set, one, task_type(one) or "") for one in ids]

    def reset(self, task: TaskRef) -> Observation:
        """Begin a game; see the protocol.

        Raises:
            EnvironmentFault: the game is none of this environment's, or not on this machine.
            SpecError: ALFWorld cannot be imported.
        """
        self._scene = None
        self._steps = 0
        game = _game(task)
        self._scene = self._started().start(game)
        return _observation(self._scene.text)

    def step(self, action: str) -> Step:
        """Carry out one action; see the protocol.

        Raises:
            EnvironmentFault: no task is running.
        """
        before = self._scene
        if before is None or self._engine is None:
            raise EnvironmentFault("no task is running: call reset before step")
        after = self._engine.step(action)
        self._steps += 1
        done = after.won or self._steps >= self.step_limit
        self._scene = None if done else after
        return Step(
            action=action,
            observation=after.text,
            reward=1.0 if after.won else 0.0,
            done=done,
            success=after.won,
            validity=validity(action, before.commands, before.receptacles, before.facts != after.facts),
        )

    def close(self) -> None:
        """End the game and give the engine back. The next reset takes one."""
        self._scene = None
        if self._engine is not None:
            from envs.alfworld.engine import give_back

            give_back(self._engine)
            self._engine = None

    def _started(self) -> Engine:
        if self._engine is None:
            from envs.alfworld.engine import take_engine

            self._engine = take_engine()
        return self._engine


def _game(task: TaskRef) -> Game:
    if task.task_set == OWN and task.id in own.game_ids():
        return own.game(task.id)
    data = dataset.data_folder()
    path = dataset.game_file(task.task_set, task.id, data)
    if path is None:
        raise EnvironmentFault(
            f"{NAME} has no game {task.id!r} of {task.task_set!r} in {data}; {dataset.MEND}"
        )
    try:
        return read_game(path)
    except (OSError, ValueError) as error:
        raise EnvironmentFault(
            f"ALFWorld's data set is damaged: {error}; run: ocm data alfworld --force"
        ) from None


def _observation(text: str) -> Observation:
    _, goal_follows, goal = text.rpartition(GOAL)
    if not goal_follows:
        raise EnvironmentFault(f"the game tells no task; it begins: {text[:100]!r}")
    return Observation(goal.strip(), text.removeprefix(WELCOME).strip())
