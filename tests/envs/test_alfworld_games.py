"""Our own games: the committed files are what the generator makes, and each can be won."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip(
    "alfworld", reason="ALFWorld is not installed: pip install 'ocm-at-scale[alfworld]'", exc_type=ImportError
)

from envs.alfworld import own
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game import Game
from envs.alfworld.make_games import game_id, main
from envs.alfworld.rooms import TASKS
from ocm.types import TaskRef, Validity


def plans(games: Mapping[str, Game]) -> Mapping[str, Sequence[str]]:
    """What the package's planner would do; in a process of its own, since ours does without planner."""
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs.pddl import PddlEnv

    world = AlfredDemangler(PddlEnv(textworld.EnvInfos(policy_commands=True)))
    found = {}
    for name, game in games.items():
        world.load(game._asdict())
        found[name] = list(world.reset()["policy_commands"])
    return found


@pytest.fixture(scope="module")
def planned() -> Iterator[Mapping[str, Sequence[str]]]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool.apply(plans, ({name: own.game(name) for name in own.game_ids()},))


def test_the_committed_games_are_what_the_generator_makes(tmp_path: Path) -> None:
    main(tmp_path)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    committed = (files("envs.alfworld") / "games").iterdir()
    assert made == {entry.name: entry.read_text("utf-8") for entry in committed}
    assert len(made) == len(TASKS)


@pytest.mark.parametrize("name", [game_id(task) for task in TASKS])
def test_every_game_is_won_by_the_planners_plan(name: str, planned: Mapping[str, Sequence[str]]) -> None:
    environment = AlfworldEnvironment()
    environment.reset(TaskRef("alfworld", "own", name, ""))
    *steps, last = [environment.step(action) for action in planned[name]]
    environment.close()
    assert len(steps) >= 2 and not any(step.success for step in steps) and last.success
    assert {step.validity for step in (*steps, last)} == {Validity.VALID}
