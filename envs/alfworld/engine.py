"""The text engine of ALFWorld, without the package's batch of environments and its shuffling.

An engine plays one game after another. It is never destroyed: a new one per game leaks, and unloading its
library makes the interpreter crash at its end. So whoever is done with one gives it back to the process.

Not safe in several threads: its parsers are global. A host is a process with one thread that plays.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from envs.alfworld.game import Game
from envs.alfworld.package import NOT_INSTALLED, without_traces
from envs.alfworld.patches import apply_patches, forget_propositions, without_planner
from ocm.errors import SpecError

LEFTOVER_SECONDS = 600.0
"""Age from which a scratch folder belongs to a process that was killed: it is needed for 0.05 s."""

_PREFIX = ".ocm-alfworld-engine-"
"""Hidden and particular: nobody gives a folder of his own such a name, and loses it."""

Facts = frozenset[Any]


class Scene(NamedTuple):
    """What is there after a start or a command."""

    text: str
    """The engine's words, without blank lines around them."""
    commands: frozenset[str]
    """Exactly what the engine will carry out next, literally."""
    receptacles: frozenset[str]
    """The names of all in the room, seen or not."""
    facts: Facts
    """What holds, as values to compare."""
    won: bool


class Engine:
    """One loaded engine library; see :func:`engine`."""

    def __init__(self, patched: bool = True) -> None:
        """Import and load: 2 s of CPU.

        Args:
            patched: with :mod:`envs.alfworld.patches`, which then hold for the whole process.

        Raises:
            SpecError: ALFWorld is not installed.
        """
        try:
            with without_traces():
                import textworld
                from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
                from textworld.envs.pddl import PddlEnv
        except ImportError as error:
            raise SpecError(f"{NOT_INSTALLED}; the import failed with: {error}") from error
        if patched:
            apply_patches()
        with _scratch():
            world = PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True))
        if patched:
            without_planner(world.downward_lib)
        self._patched = patched
        self._world = AlfredDemangler(world)
        self._receptacles: frozenset[str] = frozenset()

    def start(self, game: Game) -> Scene:
        """Load a game and begin it."""
        if self._patched:
            forget_propositions()
        self._world.load(game._asdict())
        state = self._world.reset()
        self._receptacles = frozenset(
            info.name for info in state["_entity_infos"].values() if info.type == "receptacle"
        )
        return self._scene(state)

    def step(self, command: str) -> Scene:
        """Carry one command out, if it is one of the scene's."""
        state, _, _ = self._world.step(command)
        return self._scene(state)

    def _scene(self, state: Any) -> Scene:
        return Scene(
            text=state.feedback.strip(),
            commands=frozenset(state["admissible_commands"]),
            receptacles=self._receptacles,
            facts=frozenset(fact for fact in state["_facts"] if not fact.is_negation),
            won=bool(state["won"]),
        )


_idle: list[Engine] = []


def take_engine() -> Engine:
    """An engine that nobody plays on; give it back with :func:`give_back`.

    Raises:
        SpecError: ALFWorld is not installed.
    """
    return _idle.pop() if _idle else Engine()


def give_back(engine: Engine) -> None:
    """Let the next one have it; its game is over."""
    _idle.append(engine)


@contextmanager
def _scratch() -> Iterator[None]:
    """The engine copies its library (33 MB) to a temporary folder, loads it and removes it again.

    Within, that folder is made in one of ours, and those of killed processes are removed.
    """
    _remove_leftovers(Path(tempfile.gettempdir()))
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _remove_leftovers(temporary: Path) -> None:
    for left in temporary.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # its process, or another one that starts, was faster
            found = left.lstat()
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if ours and time.time() - found.st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(left)
