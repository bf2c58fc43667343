"""The simulator in its JVM, by the calls that an episode needs.

The package's own ``step`` lists every valid action at each step (80 ms); here an action costs the
simulator's own milliseconds and three calls that only read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from envs.scienceworld.jvm import Jvm, Py4JError
from envs.scienceworld.validity import form
from ocm.errors import EnvironmentFault

_HEADING = "Task Description:\n"
_ERRORS = ("<ERROR>", "ERROR:")


class Answer(NamedTuple):
    """What the simulator says after one input."""

    text: str
    score: int
    """Percent of the goal reached so far; negative when the task can no longer be done."""
    completed: bool

    @property
    def ended(self) -> bool:
        return self.completed or self.score < 0


class Simulator:
    """One JVM with one simulator. After an EnvironmentFault it is of no more use: close it."""

    def __init__(self, jvm: Jvm | None = None) -> None:
        """Start it.

        Raises:
            EnvironmentFault: there is no Java, or it does not start.
        """
        self._jvm = jvm or Jvm()
        self._description = ""
        self._server: Any = self._call(self._jvm.gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface)

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._jvm.pid

    def load(self, task: str, variation: int, simplifications: str) -> str:
        """Build the world of a task and give the task's description.

        Raises:
            EnvironmentFault: the simulator failed, or knows no such task.
        """
        problem = self._call(self._server.load, task, variation, simplifications, False)
        self._description = "" if problem else self._call(self._server.freeActionTaskDesc)
        if not self._description.startswith(_HEADING):
            raise EnvironmentFault(
                f"ScienceWorld cannot load {task} {variation}: {problem or self._description}; "
                "see that the installed scienceworld is the version that is asked for"
            )
        return self._description.removeprefix(_HEADING)

    def step(self, text: str) -> Answer:
        """Hand one line of ASCII text to the simulator.

        Raises:
            EnvironmentFault: the simulator failed.
        """
        said: str = self._call(self._server.step, text)
        answer = Answer(
            said, round(100 * self._call(self._server.getScore)), self._call(self._server.getCompleted)
        )
        self._check(text, said)
        return answer

    def _check(self, text: str, said: str) -> None:
        # an exception inside the simulator does not show before the next input: ask at once
        state: str = self._call(self._server.freeActionTaskDesc)
        if state != self._description:
            raise EnvironmentFault(f"ScienceWorld failed at {text!r}: {state}; the episode starts again")
        if said.startswith(_ERRORS) and form(said) is None:
            raise EnvironmentFault(f"ScienceWorld failed at {text!r}: {said}; the episode starts again")

    def close(self) -> None:
        """End the JVM. May be called again."""
        self._jvm.kill()

    def _call(self, method: Callable[..., Any], *arguments: object) -> Any:
        try:
            return method(*arguments)
        except Py4JError as error:
            raise EnvironmentFault(
                f"the ScienceWorld simulator broke down: {str(error)[:1000]}; the episode starts again"
            ) from error
