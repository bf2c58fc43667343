"""ScienceWorld, a short chain in the real simulator: it plays, learns what executes, and errs less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from envs.scienceworld.environment import ScienceworldEnvironment
from knowledge_store.rules import check
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode
from tests.scripted.texts import play_tasks

TASKS = (
    "use-thermometer",
    "find-non-living-thing",
    "chemistry-mix-paint-secondary-color",
    "power-component",
    "inclined-plane-determine-angle",
    "chemistry-mix-paint-secondary-color",
    "use-thermometer",
)


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceworldEnvironment]:
    environment = ScienceworldEnvironment()
    yield environment
    environment.close()


def test_a_short_chain_is_played_and_what_was_learned_executes(world: ScienceworldEnvironment) -> None:
    kinds: dict[str, list[object]] = {}
    tasks = []
    for name in TASKS:
        of_kind = [task for task in world.tasks("train.first5") if task.stratum == name]
        kinds.setdefault(name, []).append(name)
        tasks.append(of_kind[len(kinds[name]) - 1])
    without, _ = play_tasks(world, tasks, "react")
    learned, memory = play_tasks(world, tasks, "ocm")

    assert reward(learned) >= reward(without) > 0.2
    assert invalid(learned) < invalid(without)
    assert any(episode.trajectory.success for episode in learned)
    procedures = {path: text for path, text in memory.items() if path != "objects.py"}
    assert procedures and check(memory["objects.py"], procedures) == ()
    with Sandbox(Policy()) as sandbox:
        assert all(verdict.ok for verdict in sandbox.verify(memory["objects.py"], procedures))


def reward(episodes: Sequence[Episode]) -> float:
    return sum(episode.trajectory.reward for episode in episodes) / len(episodes)


def invalid(episodes: Sequence[Episode]) -> float:
    return sum(episode.trajectory.invalid_actions for episode in episodes) / len(episodes)
