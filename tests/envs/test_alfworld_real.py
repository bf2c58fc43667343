"""The benchmark's own games, where they are on this machine; the rest of the tests needs none."""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip(
    "alfworld", reason="ALFWorld is not installed: pip install 'ocm-at-scale[alfworld]'", exc_type=ImportError
)

from envs.alfworld import dataset
from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.package import without_traces
from tests.envs.alfworld_real import ARCHIVE, real_data
from tests.envs.alfworld_replay import elsewhere, walks
from tests.envs.alfworld_walkthroughs import is_won


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AlfworldEnvironment]:
    """An environment that finds the data set."""
    data = real_data(tmp_path_factory.mktemp("data"))
    if data is None:
        pytest.skip(f"ALFWorld's data set is not here: run `ocm data alfworld`, or set {ARCHIVE}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(dataset.VARIABLE, str(data))
        environment = AlfworldEnvironment()
        yield environment
        environment.close()


def test_valid_unseen_are_the_134_games_of_the_benchmark(world: AlfworldEnvironment) -> None:
    tasks = world.tasks("valid_unseen")
    assert Counter(task.stratum for task in tasks) == {
        "pick_and_place_simple": 24,
        "look_at_obj_in_light": 18,
        "pick_clean_then_place_in_recep": 31,
        "pick_heat_then_place_in_recep": 23,
        "pick_cool_then_place_in_recep": 21,
        "pick_two_obj_and_place": 17,
    }
    assert len({task.id for task in tasks}) == 134


def test_valid_seen_are_the_140_games_of_the_benchmark(world: AlfworldEnvironment) -> None:
    if "valid_seen" not in dataset.games_there(dataset.data_folder()):
        pytest.skip("the data set here has no valid_seen")
    assert len(world.tasks("valid_seen")) == 140


def test_the_packages_own_listing_finds_the_same_games(world: AlfworldEnvironment, tmp_path: Path) -> None:
    if ARCHIVE not in os.environ:
        pytest.skip(f"only an archive has the files that the package's listing reads: set {ARCHIVE}")
    with tarfile.open(os.environ[ARCHIVE]) as archive:
        archive.extractall(tmp_path, filter="data")
    with without_traces():
        from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv
    folder = tmp_path / dataset.LAYOUT / "valid_unseen"
    listing = SimpleNamespace(
        train_eval="eval_out_of_distribution",
        config={
            "dataset": {"eval_ood_data_path": str(folder), "num_eval_games": -1},
            "env": {"task_types": [1, 2, 3, 4, 5, 6]},
        },
    )
    AlfredTWEnv.collect_game_files(listing)
    found = sorted(Path(file).parent.relative_to(folder).as_posix() for file in listing.game_files)
    assert found == [task.id for task in world.tasks("valid_unseen")]


def test_a_game_of_each_type_is_won_by_its_walkthrough(world: AlfworldEnvironment) -> None:
    one_each = {task.stratum: task for task in world.tasks("valid_unseen")}.values()
    assert len(one_each) == 6
    assert [task.id for task in one_each if not is_won(world, task)] == []


def test_walks_are_the_same_in_a_fresh_process(world: AlfworldEnvironment) -> None:
    tasks = world.tasks("valid_unseen")[::67]
    assert elsewhere(tasks[::-1], steps=10) == walks(tasks, steps=10)
