"""ALFWorld's real engine on our own games: the protocol, texts, determinism, and what it leaves behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "alfworld", reason="ALFWorld is not installed: pip install 'ocm-at-scale[alfworld]'", exc_type=ImportError
)

from envs.alfworld import engine, own
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.probe import probe
from envs.alfworld.validity import NOTHING
from ocm.errors import EnvironmentFault
from ocm.types import Step, TaskRef, Validity
from tests.envs.alfworld_messages import record
from tests.envs.alfworld_replay import elsewhere, walks
from tests.envs.alfworld_walks import ODD, wander

PAN = "pick_cool_then_place_in_recep-Pan-None-StoveBurner-kitchen"
COOLED_PAN = (
    *("go to countertop 1", "take pan 1 from countertop 1", "go to fridge 1", "cool pan 1 with fridge 1"),
    *("go to stoveburner 1", "move pan 1 to stoveburner 2"),
)
FIRST = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 3, a cabinet 2, "
    "a cabinet 1, a coffeemachine 1, a countertop 1, a diningtable 1, a drawer 2, a drawer 1, a fridge 1, "
    "a garbagecan 1, a microwave 1, a sinkbasin 1, a stoveburner 2, and a stoveburner 1.\n\n"
    "Your task is to: put a cool pan in stoveburner."
)


def task(game_id: str = PAN) -> TaskRef:
    return TaskRef("alfworld", "own", game_id, game_id.partition("-")[0])


@pytest.fixture(scope="module")
def world() -> Iterator[AlfworldEnvironment]:
    environment = AlfworldEnvironment()
    yield environment
    environment.close()


def play(environment: AlfworldEnvironment, *actions: str) -> list[Step]:
    environment.reset(task())
    return [environment.step(action) for action in actions]


# --- the protocol ------------------------------------------------------------------------------


def test_reset_gives_the_goal_and_the_room_without_the_welcome(world: AlfworldEnvironment) -> None:
    observation = world.reset(task())
    assert observation.goal == "put a cool pan in stoveburner."
    assert observation.text == FIRST


def test_winning_ends_the_episode_with_reward_one(world: AlfworldEnvironment) -> None:
    *steps, last = play(world, *COOLED_PAN)
    assert [(step.reward, step.done, step.success) for step in steps] == [(0.0, False, False)] * 5
    assert (last.reward, last.done, last.success) == (1.0, True, True)
    assert {step.validity for step in (*steps, last)} == {Validity.VALID}
    with pytest.raises(EnvironmentFault, match="call reset before step"):
        world.step("look")


def test_the_fiftieth_action_ends_the_episode_without_success(world: AlfworldEnvironment) -> None:
    *steps, last = play(world, *["look"] * 50)
    assert not any(step.done for step in steps)
    assert (last.reward, last.done, last.success) == (0.0, True, False)


def test_the_fiftieth_action_may_win(world: AlfworldEnvironment) -> None:
    *_, last = play(world, *["nonsense"] * 44, *COOLED_PAN)
    assert last.done and last.success


def test_receptacles_of_one_place_are_reached_together(world: AlfworldEnvironment) -> None:
    steps = play(
        world, "go to drawer 1", "go to drawer 2", "go to drawer 1", "open drawer 2", "open drawer 2"
    )
    assert [step.validity for step in steps] == [
        *(Validity.VALID, Validity.NO_EFFECT, Validity.NO_EFFECT),
        *(Validity.VALID, Validity.NO_EFFECT),
    ]
    assert steps[1].observation == NOTHING


def test_a_second_cooling_and_a_second_use_change_nothing(world: AlfworldEnvironment) -> None:
    steps = play(world, *COOLED_PAN[:4], COOLED_PAN[3])
    assert [step.validity for step in steps[3:]] == [Validity.VALID, Validity.NO_EFFECT]
    assert steps[3].observation == steps[4].observation == "You cool the pan 1 using the fridge 1."


@pytest.mark.parametrize("action", [*ODD, "go to drawer 1\n\x00", "\ud800", "look" * 100_000])
def test_no_text_breaks_the_engine(world: AlfworldEnvironment, action: str) -> None:
    if world._scene is None or world._steps > 40:
        world.reset(task())
    before = world._scene
    assert before is not None
    step = world.step(action)
    assert step.action == action
    if step.validity is not Validity.VALID:
        assert step.observation == NOTHING and world._scene == before._replace(text=NOTHING)
    assert world.step("look").observation.startswith("You are ")


def test_rules_are_the_engines_own_help(world: AlfworldEnvironment) -> None:
    (step,) = play(world, "help")
    described = " ".join(world.rules.split())
    assert all(" ".join(line.split()) in described for line in step.observation.split("\n"))


def test_categories_are_what_the_engines_facts_say(world: AlfworldEnvironment) -> None:
    seen = {moved.step.validity for moved in record(world, world.tasks("own")[::3], random.Random(1))}
    assert seen == set(Validity)


def test_at_least_half_of_the_probes_actions_are_valid(world: AlfworldEnvironment) -> None:
    draw = random.Random(0)
    valid = []
    for one in world.tasks("own")[::4]:
        seen = [world.reset(one).text]
        for _ in range(20):
            step = world.step(probe(seen, draw))
            seen.append(step.observation)
            valid.append(step.validity is Validity.VALID)
    assert sum(valid) >= len(valid) / 2


# --- engines -----------------------------------------------------------------------------------


def test_two_environments_play_side_by_side_as_alone(world: AlfworldEnvironment) -> None:
    alone = [step.observation for step in play(world, *COOLED_PAN)]
    other = AlfworldEnvironment()
    world.reset(task())
    other.reset(task(own.game_ids()[0]))
    together = []
    for action in COOLED_PAN:
        together.append(world.step(action).observation)
        other.step("look")
    assert together == alone
    other.close()


def test_an_engine_is_given_back_and_taken_again() -> None:
    first = AlfworldEnvironment()
    first.reset(task())
    used = first._engine
    first.close()
    first.close()
    with pytest.raises(EnvironmentFault):
        first.step("look")
    second = AlfworldEnvironment()
    second.reset(task())
    assert second._engine is used
    second.close()


def test_a_start_leaks_neither_arguments_nor_output_nor_variables(tmp_path: Path) -> None:
    code = f"""
import os, sys
from pathlib import Path
from envs.alfworld.environment import AlfworldEnvironment
from ocm.types import TaskRef
before = list(sys.argv), sys.stdout, dict(os.environ)
environment = AlfworldEnvironment()
environment.reset(TaskRef("alfworld", "own", {PAN!r}, ""))
environment.step("look")
assert (list(sys.argv), sys.stdout, dict(os.environ)) == before
print([str(path) for path in Path(os.environ["TMPDIR"]).rglob("*") ])
"""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    run = subprocess.run(
        [sys.executable, "-c", code, "an argument"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PATH": ""},
    )
    assert run.stdout == "[]\n" and not run.stderr and not run.returncode
    assert not list((tmp_path / "home").iterdir())


def test_what_killed_processes_left_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / f"{engine._PREFIX}killed"
    (killed / "tmp").mkdir(parents=True)
    (killed / "tmp" / "libdownward.so").write_bytes(b"x")
    with engine._scratch():
        assert killed.exists(), "it may be that of one that starts just now"
        assert Path(tempfile.mkdtemp()).parent.parent == tmp_path
    os.utime(killed, (0, 0))
    with engine._scratch():
        assert not killed.exists()
    assert not list(tmp_path.iterdir()) and tempfile.tempdir == str(tmp_path)


def test_past_games_are_forgotten(world: AlfworldEnvironment) -> None:
    from mementos import core

    kept = []
    for one in [*world.tasks("own"), task()]:
        world.reset(one)
        world.step("look")
        kept.append(len(core._memento_cache))
    assert max(kept) < 3 * min(kept), "they would add up"


# --- determinism -------------------------------------------------------------------------------


def test_walks_are_the_same_again_elsewhere_and_without_patches(world: AlfworldEnvironment) -> None:
    tasks = world.tasks("own")[::2]
    first = walks(tasks, steps=10)
    assert walks(tasks[::-3], steps=10).items() <= first.items()
    assert elsewhere(tasks[::-1], steps=10) == first
    assert elsewhere(tasks[::3], steps=10, patched=False).items() <= first.items()


def test_a_walk_shows_a_difference(world: AlfworldEnvironment) -> None:
    assert walks([task()], steps=5) != walks([task()], steps=6)
    assert list(wander(world, task(), random.Random(0), 5)) == list(
        wander(world, task(), random.Random(0), 5)
    )
