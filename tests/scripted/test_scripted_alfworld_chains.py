"""ALFWorld, whole chains over games of our own: they are played to their end, and learning shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from envs.alfworld.environment import AlfworldEnvironment
from knowledge_store.rules import check
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode, TaskRef, Validity
from tests.envs.alfworld_real import needs_alfworld
from tests.scripted.alfworld_texts import write_games
from tests.scripted.texts import play_tasks

pytestmark = needs_alfworld
GAMES = 24


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlfworldEnvironment]:
    """An environment whose task set ``train`` is games of our own, of all kinds, in a mixed order."""
    folder = tmp_path_factory.mktemp("alfworld")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALFWORLD_DATA", str(folder))
        write_games(folder, GAMES)
        environment = AlfworldEnvironment()
        yield environment
        environment.close()


def mixed(tasks: Sequence[TaskRef]) -> list[TaskRef]:
    """One task of each type after another; they come sorted by type, equally many of each."""
    each = len(tasks) // len({task.stratum for task in tasks})
    return [task for start in range(each) for task in tasks[start::each]]


def test_own_games_are_played_and_what_was_learned_executes() -> None:
    """Verification finds nothing to complain of in the memory of a whole chain."""
    environment = AlfworldEnvironment()
    episodes, memory = play_tasks(environment, environment.tasks("own")[::2], "ocm")
    environment.close()
    assert any(episode.trajectory.success for episode in episodes)
    procedures = {path: text for path, text in memory.items() if path != "objects.py"}
    assert procedures and check(memory["objects.py"], procedures) == ()
    with Sandbox(Policy()) as sandbox:
        assert all(verdict.ok for verdict in sandbox.verify(memory["objects.py"], procedures))


@pytest.mark.timeout(600)  # half a minute on a quiet machine
def test_what_is_learned_shows(world: AlfworldEnvironment) -> None:
    """Over one chain: more success, fewer steps and fewer invalid actions than without memory."""
    tasks = mixed(world.tasks("train"))
    without, _ = play_tasks(world, tasks, "react")
    learned, memory = play_tasks(world, tasks, "ocm")
    later = len(tasks) // 3
    assert success(learned) >= success(without) + 0.1
    assert success(learned[later:]) >= success(without[later:]) + 0.1
    assert invalid(learned[later:]) < 0.85 * invalid(without[later:])
    assert steps(learned[later:]) < 0.9 * steps(without[later:])
    assert 0.3 <= success(learned) <= 0.9
    assert sum(map(len, memory.values())) < 60_000
    kinds = {step.validity for episode in without for step in episode.trajectory.steps}
    assert kinds == set(Validity)


def success(episodes: Sequence[Episode]) -> float:
    return sum(episode.trajectory.success for episode in episodes) / len(episodes)


def invalid(episodes: Sequence[Episode]) -> float:
    return sum(episode.trajectory.invalid_actions for episode in episodes) / len(episodes)


def steps(episodes: Sequence[Episode]) -> float:
    return sum(len(episode.trajectory.steps) for episode in episodes) / len(episodes)
