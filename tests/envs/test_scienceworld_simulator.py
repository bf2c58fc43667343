"""ScienceWorld in its real simulator: the protocol, menus, scores, determinism, the package's data."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from envs.scienceworld import menus, package
from envs.scienceworld.actions import MAX_LENGTH, NOT_UNDERSTOOD, RESET_REFUSED, fits_a_template, templates
from envs.scienceworld.environment import ScienceworldEnvironment
from envs.scienceworld.settings import ScienceworldSettings
from ocm.errors import EnvironmentFault
from ocm.identity import sha256
from ocm.types import Step, TaskRef, Validity
from tests.envs.scienceworld_messages import record, wander
from tests.envs.scienceworld_replay import walk, walks

BOIL = TaskRef("scienceworld", "test", "boil/21", "boil")
MELT = TaskRef("scienceworld", "test", "melt/21", "melt")


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceworldEnvironment]:
    environment = ScienceworldEnvironment()
    yield environment
    environment.close()


@pytest.fixture(scope="module")
def easy() -> Iterator[ScienceworldEnvironment]:
    environment = ScienceworldEnvironment(ScienceworldSettings(simplifications=["easy"]))
    yield environment
    environment.close()


def play(environment: ScienceworldEnvironment, *actions: str) -> Step:
    """The step of the last action."""
    return [environment.step(action) for action in actions][-1]


def server(environment: ScienceworldEnvironment) -> Any:
    """The simulator's own object."""
    assert environment._simulator is not None
    return environment._simulator._server


# --- the protocol ------------------------------------------------------------------------------


def test_reset_gives_goal_and_room(world: ScienceworldEnvironment) -> None:
    observation = world.reset(BOIL)
    assert observation.goal.startswith("Your task is to boil lead. For compounds without a boiling point")
    assert observation.text.startswith("This room is called the bathroom. In it, you see: \n\tthe agent\n")


def test_an_action_changes_the_world(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    step = play(world, "open door")
    assert step == Step("open door", "The door is now open.", 0.0, False, False, Validity.VALID)
    assert play(world, "open door").validity is Validity.NO_EFFECT
    assert play(world, "go to kitchen").observation == "You move to the kitchen."


def test_the_hundredth_action_ends_the_episode(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    steps = [world.step("task" if number % 2 else "é") for number in range(100)]
    assert [step.done for step in steps] == [False] * 99 + [True]
    with pytest.raises(EnvironmentFault, match="call reset"):
        world.step("look around")


def test_a_wrong_focus_ends_the_episode_without_reward(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    step = play(world, "focus on sink")
    assert (step.done, step.success, step.reward, step.validity) == (True, False, 0.0, Validity.VALID)
    with pytest.raises(EnvironmentFault):
        world.step("reset task")


@pytest.mark.parametrize("task", ["find-living-thing", "identify-life-stages-2", "power-component"])
def test_a_gold_path_succeeds(easy: ScienceworldEnvironment, task: str) -> None:
    variation = package.tasks()[task].variations("test")[0]
    reference = TaskRef("scienceworld", "test", f"{task}/{variation}", task)
    easy.reset(reference)
    assert server(easy).load(task, variation, ",".join(easy._names), True) == ""
    gold = list(server(easy).getGoldActionSequence())
    easy.reset(reference)
    steps = []
    for action in gold:
        steps.append(easy.step(action))
        if steps[-1].done:
            break
    assert steps[-1].success and steps[-1].done and steps[-1].reward == 1.0
    assert not any(step.success or step.done for step in steps[:-1])
    assert all(before.reward <= after.reward for before, after in pairwise(steps))
    assert any(0 < step.reward < 1 for step in steps)


def test_our_steps_are_the_simulators_own(easy: ScienceworldEnvironment) -> None:
    task = TaskRef("scienceworld", "test", "use-thermometer/405", "use-thermometer")
    answers = list(wander(easy, task, random.Random(1), 60))
    first = easy.reset(task).text
    bare = server(easy)
    assert bare.load("use-thermometer", 405, ",".join(easy._names), False) == ""
    assert bare.step("look around") == first
    open_choices = 0
    for answered in answers:
        if open_choices and not menus.answers(answered.action, open_choices):
            bare.step("")
        said = bare.step(answered.action)
        if answered.action.isascii():
            assert said in (answered.observation, "You reset the goal progress and focus.")
        open_choices = menus.choices(answered.observation)
    assert sum(answered.validity is Validity.VALID for answered in answers) > 10


# --- reset task and odd texts ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["reset task", "Reset  the TASK", " reset\na task"])
def test_reset_task_is_refused_and_not_sent(world: ScienceworldEnvironment, text: str) -> None:
    world.reset(BOIL)
    moves = server(world).getNumMoves()
    step = world.step(text)
    assert (step.action, step.observation, step.validity) == (text, RESET_REFUSED, Validity.REFUSED)
    assert server(world).getNumMoves() == moves


ODD = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "\r\n",
        "\x00",
        "\x1b[31m",
        "é",
        "日本語",
        "👍",
        "\ud800",
        "\udfff\ud800",
        "\u2028",
    ),
    *(
        "\\",
        "\\n",
        "\\\\n",
        "\\r\\n",
        "look\\naround",
        '"',
        "'",
        "`",
        "{}",
        "%s%n%d",
        "$1",
        "<ERROR>",
        "ERROR: x",
    ),
    *("e\n", "c\no0\nshutdown\ne\n", "s\n", "!xsTraceback", "yro1", "0", "-1", "1e9", "+1", "null", "None"),
    *("x" * MAX_LENGTH, "x" * (MAX_LENGTH + 1), "y" * 1_000_000, "look at " * 60, "connect " + "to " * 150),
    "open door to " + "the " * 110,
)


def test_no_text_breaks_the_conversation(world: ScienceworldEnvironment) -> None:
    room = world.reset(BOIL).text
    pid = world._simulator and world._simulator.pid
    for text in ODD:
        step = world.step(text)
        assert step.action == text and not step.done
        assert step.observation == NOT_UNDERSTOOD, text[:50]
        assert step.validity in (Validity.MALFORMED, Validity.REFUSED)
        assert world.step("look around").observation.split("\n")[0] == room.split("\n")[0]
        world._steps = 0
    assert world._simulator is not None and world._simulator.pid == pid


def test_white_space_and_case_are_the_simulators_affair(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    assert play(world, " LOOK \n\t AROUND ").observation == play(world, "look around").observation


# --- menus -------------------------------------------------------------------------------------


def menu(easy: ScienceworldEnvironment) -> Step:
    """A running task with an open menu."""
    easy.reset(MELT)
    step = play(easy, "teleport to hallway", "look at door")
    assert step.validity is Validity.REFUSED and menus.choices(step.observation) >= 2
    return step


def test_a_number_answers_the_menu(easy: ScienceworldEnvironment) -> None:
    choices = menus.choices(menu(easy).observation)
    step = easy.step(str(choices - 1))
    assert step.validity is Validity.VALID and "door" in step.observation.lower()
    assert easy.step("0").observation == NOT_UNDERSTOOD


@pytest.mark.parametrize("action", ["inventory", "look around", "task", "help"])
def test_an_action_after_a_menu_is_not_swallowed(easy: ScienceworldEnvironment, action: str) -> None:
    menu(easy)
    answer = easy.step(action)
    assert answer.validity is Validity.VALID
    assert answer.observation == easy.step(action).observation


@pytest.mark.parametrize("action", ["99", "é", "reset task", "xyzzy"])
def test_whatever_is_not_a_choice_closes_the_menu(easy: ScienceworldEnvironment, action: str) -> None:
    menu(easy)
    moves = server(easy).getNumMoves()
    assert easy.step(action).observation in (NOT_UNDERSTOOD, RESET_REFUSED)
    assert server(easy).getNumMoves() == moves + 1
    assert easy.step("0").observation == NOT_UNDERSTOOD


def test_a_blank_cancels_the_menu(easy: ScienceworldEnvironment) -> None:
    menu(easy)
    step = easy.step(" ")
    assert step.observation.startswith("Unknown action.") and step.validity is Validity.REFUSED
    assert easy.step("inventory").validity is Validity.VALID


def test_reset_forgets_the_menu(easy: ScienceworldEnvironment) -> None:
    menu(easy)
    easy.reset(BOIL)
    assert easy._choices == 0
    assert easy.step("0").observation == NOT_UNDERSTOOD


# --- simplifications ---------------------------------------------------------------------------


def test_easy_teleports_and_opens_doors(easy: ScienceworldEnvironment) -> None:
    easy.reset(BOIL)
    assert play(easy, "teleport to kitchen").observation == "You teleport to the kitchen."
    assert play(easy, "connect sink to sink").validity is Validity.MALFORMED


def test_electrical_tasks_keep_their_actions_under_easy(easy: ScienceworldEnvironment) -> None:
    easy.reset(TaskRef("scienceworld", "test", "power-component/15", "power-component"))
    assert "connect OBJ to OBJ" in play(easy, "help").observation


# --- determinism -------------------------------------------------------------------------------


def test_walks_repeat_after_other_tasks_and_in_a_fresh_jvm(world: ScienceworldEnvironment) -> None:
    tasks = random.Random(2).sample(list(world.tasks("test.first5")), 4)
    first = {task.id: walk(world, task, seed=3, steps=25) for task in tasks}
    again = {task.id: walk(world, task, seed=3, steps=25) for task in reversed(tasks)}
    assert first == again == dict(walks(tasks[::2] + tasks[1::2], seed=3, steps=25))
    assert len(set(first.values())) == len(tasks)


def test_a_walks_digest_is_pinned(easy: ScienceworldEnvironment) -> None:
    task = TaskRef("scienceworld", "test", "find-plant/225", "find-plant")
    room = easy.reset(task).text
    actions = (
        "teleport to hallway",
        "open door",
        "1",
        "look at door",
        "0",
        "inventory",
        "wait",
        "look around",
    )
    answers = [easy.step(action).observation for action in actions]
    assert sha256(json.dumps([room, *answers])) == (
        "8bf873736c8f2be19840878c55182e97e476179744c4f2e894e1cd84a0ea6f55"
    )


# --- what the package's running simulator alone knows ------------------------------------------


def test_the_task_list_is_the_simulators(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    bare = server(world)
    assert sorted(bare.getTaskNames()) == sorted(package.tasks())
    for name, task in package.tasks().items():
        assert bare.load(name, 0, "", False) == ""
        found = (bare.getVariationsTrain(), bare.getVariationsDev(), bare.getVariationsTest())
        assert [list(variations) for variations in found] == [
            list(task.variations(split)) for split in package.SPLITS
        ]
        assert bare.load(name, task.train + task.dev + task.test, "", False).startswith("ERROR")


def test_numbers_and_order_are_the_packages() -> None:
    rows = json.loads(package.jar().with_name("tasks.json").read_text("utf-8"))
    assert [(row["task_id"], row["task_name"]) for row in rows] == [
        (task.id, name) for name, task in package.tasks().items()
    ]


def test_every_name_of_a_thing_is_ascii(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    for name in package.tasks():
        assert server(world).load(name, 0, "", False) == ""
        names = server(world).getAllObjectIdsTypesReferentsLUTJSON()
        assert len(names) > 1000 and names.isascii() and names.isprintable()


@pytest.mark.parametrize(
    "names", [(), ("noElectricalAction",), ("teleportAction",), ("noElectricalAction", "teleportAction")]
)
def test_the_templates_are_the_simulators(world: ScienceworldEnvironment, names: tuple[str, ...]) -> None:
    world.reset(BOIL)
    assert server(world).load("boil", 0, ",".join(names), False) == ""
    theirs = {
        shape
        for definition in server(world).agentInterface().get().actionHandler().getActions()
        for trigger in _scala_list(definition.triggers())
        for shape in _shapes(trigger)
    }
    ours = {
        f"{verb}{f' x {link} x' if link else ' x' if template.things else ''}"
        for template in templates(names)
        for verb in template.verbs
        for link in template.links or ("",)
    }
    # help and objects are answered before the parser; move to|into and the like are both our templates
    assert ours - {"help", "objects"} == theirs - {"reset task"}
    assert all(fits_a_template(shape, names) for shape in ours)


def _shapes(trigger: Any) -> list[str]:
    """Every way to say a trigger, with ``x`` for a thing."""
    said = [""]
    for part in _scala_list(trigger.pattern()):
        alternative = part.getClass().getSimpleName() == "ActionExprOR"
        words = _scala_list(part.orElements()) if alternative else ["x"]
        said = [f"{start} {word}".strip() for start in said for word in words]
    return said


def _scala_list(items: Any) -> list[Any]:
    found = []
    while not items.isEmpty():
        found.append(items.head())
        items = items.tail()
    return found


# --- messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("simplifications", [[], ["easy"]])
def test_no_answer_is_of_an_unknown_form(simplifications: list[str]) -> None:
    answers = list(record(simplifications, tasks_each=1, steps=60, seed=5, names=4))
    assert [one for one in answers if not one.known] == []
    assert {one.validity for one in answers} >= {Validity.VALID, Validity.REFUSED, Validity.MALFORMED}
