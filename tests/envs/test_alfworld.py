"""ALFWorld without its engine: task sets, ids, where the data set is, what is missing, texts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envs.alfworld import dataset, own, package
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game import TASK_TYPES, is_solvable, read_game, task_type
from envs.protocol import Environment
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import TaskRef
from tests.envs.alfworld_real import needs_alfworld

POTATO = "pick_heat_then_place_in_recep-Potato-None-SideTable-10/trial_T20190909_000000_000001"
MOVABLE = "pick_and_place_with_movable_recep-Spoon-Bowl-SinkBasin-10/trial_T20190909_000000_000002"
SLICED = "pick_heat_then_place_in_recep-PotatoSliced-None-SideTable-10/trial_T20190909_000000_000003"
BOOK = "look_at_obj_in_light-Book-None-DeskLamp-308/trial_T20190909_000000_000004"


def write_game(data: Path, game_id: str, task_set: str = "valid_unseen", **changes: object) -> Path:
    """A file of the data set's form; the content is no game."""
    path = data / dataset.LAYOUT / task_set / game_id / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    content = {"pddl_domain": "d", "grammar": "g", "pddl_problem": "p", "solvable": True, "walkthrough": []}
    path.write_text(json.dumps({**content, **changes}), "utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder in the user's stead."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    return tmp_path


@needs_alfworld
def test_it_is_an_environment_with_the_papers_limit() -> None:
    environment = AlfworldEnvironment()
    assert isinstance(environment, Environment)
    assert environment.step_limit == 50 and environment.version.startswith("0.4.")


@needs_alfworld
def test_tasks_are_sorted_ids_of_folders_with_their_type_as_stratum(data: Path) -> None:
    for game_id in (POTATO, BOOK):
        write_game(data, game_id)
    assert AlfworldEnvironment().tasks("valid_unseen") == [
        TaskRef("alfworld", "valid_unseen", BOOK, "look_at_obj_in_light"),
        TaskRef("alfworld", "valid_unseen", POTATO, "pick_heat_then_place_in_recep"),
    ]


def test_movable_sliced_and_unsolvable_games_are_left_out(data: Path) -> None:
    for game_id in (POTATO, MOVABLE, SLICED):
        write_game(data, game_id)
    write_game(data, BOOK, solvable=False)
    assert dataset.game_ids("valid_unseen", data) == [POTATO]


def test_solvable_is_read_from_the_end_or_from_the_whole_file(tmp_path: Path) -> None:
    long = ["go to desk 1"] * 2000
    for solvable in (True, False):
        path = write_game(tmp_path / str(solvable), POTATO, solvable=solvable)
        assert is_solvable(path) is solvable
        path.write_text(json.dumps({"solvable": solvable, "walkthrough": long}))
        assert is_solvable(path) is solvable
    path.write_text(json.dumps({"grammar": '"solvable": true'}))
    assert not is_solvable(path), "a game that does not say is left out, as by the package"


def test_a_task_type_is_one_of_six() -> None:
    assert [task_type(f"{kind}-Mug-None-Shelf-1/trial_1") for kind in TASK_TYPES] == list(TASK_TYPES)
    assert task_type(MOVABLE) is None and task_type(SLICED) is None and task_type("x") is None


@needs_alfworld
def test_without_data_set_one_line_says_how_to_get_it(data: Path) -> None:
    with pytest.raises(SpecError, match=r"`ocm data alfworld`, or set ALFWORLD_DATA") as caught:
        AlfworldEnvironment().tasks("valid_seen")
    assert "\n" not in caught.value.message and str(data) in caught.value.message


@needs_alfworld
def test_an_unknown_task_set_is_told_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match="it has train, valid_seen, valid_unseen, own"):
        AlfworldEnvironment().tasks("test")


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"pip install 'ocm-at-scale\[alfworld\]'"):
        AlfworldEnvironment()


@needs_alfworld
@pytest.mark.parametrize("game_id", [POTATO, "../own/x", "..", f"../../{POTATO}", POTATO + "/..", ""])
def test_a_game_that_is_not_there_is_a_fault(data: Path, game_id: str) -> None:
    write_game(data, BOOK)
    with pytest.raises(EnvironmentFault, match="has no game"):
        AlfworldEnvironment().reset(TaskRef("alfworld", "valid_unseen", game_id, ""))


@needs_alfworld
@pytest.mark.parametrize("content", ["{", "[]", '{"grammar": 1}', "\udcff"])
def test_a_damaged_game_is_a_fault_with_the_mend(data: Path, content: str) -> None:
    write_game(data, BOOK).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(EnvironmentFault, match="ocm data alfworld --force"):
        AlfworldEnvironment().reset(TaskRef("alfworld", "valid_unseen", BOOK, ""))


@needs_alfworld
@pytest.mark.parametrize("content", ["", '{"pddl_domain": "(def', "[" * 200_000])
def test_listing_names_the_damaged_game(data: Path, content: str) -> None:
    path = write_game(data, BOOK)
    path.write_text(content)
    with pytest.raises(SpecError, match=f"{re.escape(str(path))}: .*; run: ocm data alfworld --force"):
        AlfworldEnvironment().tasks("valid_unseen")


def test_the_home_of_an_unknown_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", "~nobody-of-this-name/data")
    with pytest.raises(SpecError, match=r"ALFWORLD_DATA is '~nobody-of-this-name/data'.*give the whole path"):
        dataset.data_folder()


def test_the_walkthrough_is_not_part_of_a_game(tmp_path: Path) -> None:
    game = read_game(write_game(tmp_path, BOOK, walkthrough=["go to desk 1"]))
    assert game._asdict() == {"pddl_domain": "d", "grammar": "g", "pddl_problem": "p"}


@needs_alfworld
def test_step_without_a_task_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="call reset before step"):
        AlfworldEnvironment().step("look")


@needs_alfworld
def test_planning_imports_no_engine_and_leaves_no_trace(tmp_path: Path) -> None:
    code = """
import os, sys
from envs.alfworld.environment import AlfworldEnvironment
environment = AlfworldEnvironment()
environment.tasks("own"), environment.rules, environment.version, environment.step_limit
environment.close(), environment.close()
heavy = ("alfworld", "textworld", "fast_downward", "numpy", "tatsu")
print(sorted(m for m in sys.modules if m.partition(".")[0] in heavy), os.environ.get("ALFWORLD_DATA"))
"""
    environment = {"HOME": str(tmp_path), "PATH": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == "[] None" and not list(tmp_path.iterdir())


def test_own_games_are_two_of_each_type_in_several_rooms() -> None:
    ids = own.game_ids()
    assert len(ids) >= 12 and list(ids) == sorted(ids)
    kinds = [task_type(one) for one in ids]
    assert all(kinds.count(kind) >= 2 for kind in TASK_TYPES)
    assert {one.rpartition("-")[2] for one in ids} == {"kitchen", "bathroom", "bedroom", "livingroom"}


@needs_alfworld
def test_rules_describe_every_action_of_the_help_and_nothing_of_the_goals() -> None:
    rules = AlfworldEnvironment().rules
    described = " ".join(rules.split())
    grammar = package.grammar()
    help_text = grammar[grammar.index("Available commands:") :].split('"')[0]
    for line in help_text.split("\\n"):
        assert " ".join(line.split()) in described
    assert "put " not in rules.partition("Available")[2].replace("put them", "")
