"""The PlanCraft environment by itself: contract, validity, limits, search. The replay is apart."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.plancraft import package
from envs.plancraft.actions import ACTIONS, Malformed, Move, Stop, parse
from envs.plancraft.environment import PlancraftEnvironment
from envs.plancraft.package import Example, Stack
from envs.plancraft.recipes import Recipe, Shaped, Shapeless, Smelting, recipe_book
from envs.plancraft.rules import rules
from envs.plancraft.settings import PlancraftSettings
from envs.plancraft.slots import SLOT_NAMES, slot_index
from envs.protocol import Environment
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import Step, TaskRef, Validity

THREE = ("move", "smelt", "impossible")


def world(**slots: tuple[str, int]) -> PlancraftEnvironment:
    """A running task with these slots (``I1=("sand", 2)``) and an unreachable target."""
    environment = PlancraftEnvironment(PlancraftSettings(search=True, think=True))
    task = environment.tasks("test.small")[0]
    environment.reset(task)
    held = {slot_index(f"[{name}]"): Stack(*stack) for name, stack in slots.items()}
    environment._slots = {slot: stack for slot, stack in held.items() if slot is not None}
    environment._example = Example(task.id, "easy", "bedrock", False, environment._slots)
    return environment


def move(source: str, target: str, quantity: int, verb: str = "move") -> str:
    return f"{verb}: from [{source}] to [{target}] with quantity {quantity}"


def lay_out_boat(environment: PlancraftEnvironment) -> None:
    for slot in ("A1", "A3", "B1", "B2", "B3"):
        assert environment.step(move("I1", slot, 1)).validity is Validity.VALID


def test_it_is_an_environment() -> None:
    assert isinstance(PlancraftEnvironment(), Environment)


def test_test_small_has_the_papers_groups() -> None:
    tasks = PlancraftEnvironment().tasks("test.small")
    assert Counter(task.stratum for task in tasks) == {"easy": 40, "medium": 20, "hard": 37, "impossible": 20}
    assert tasks[0] == TaskRef("plancraft", "test.small", "TEST0487", "easy")


@pytest.mark.parametrize("task_set", package.TASK_SETS)
def test_ids_are_unique_and_strata_known(task_set: str) -> None:
    tasks = PlancraftEnvironment().tasks(task_set)
    assert len({task.id for task in tasks}) == len(tasks) > 100
    assert {task.stratum for task in tasks} == {"easy", "medium", "hard", "impossible"}


def test_an_unknown_task_set_names_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"test\.small"):
        PlancraftEnvironment().tasks("tests")


def test_an_unknown_task_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="NOPE"):
        PlancraftEnvironment().reset(TaskRef("plancraft", "test.small", "NOPE", "easy"))


def test_reset_gives_goal_and_inventory() -> None:
    environment = PlancraftEnvironment()
    observation = environment.reset(environment.tasks("test.small")[0])
    assert observation.goal == "Craft an item of type: coal"
    assert observation.text.startswith(
        "Craft an item of type: coal\ninventory:\n - music_disc_strad [I1] quantity 1\n"
    )


def test_smelting_the_target_is_success_and_ends() -> None:
    environment = PlancraftEnvironment()
    environment.reset(environment.tasks("test.small")[0])
    step = environment.step(move("I6", "I36", 1, "smelt"))
    assert (step.done, step.success, step.reward, step.validity) == (True, True, 1.0, Validity.VALID)
    with pytest.raises(EnvironmentFault, match="no task is running"):
        environment.step("move")


@pytest.mark.parametrize(("stratum", "success"), [("impossible", True), ("hard", False)])
def test_impossible_ends_and_counts_only_where_true(stratum: str, success: bool) -> None:
    environment = PlancraftEnvironment()
    task = next(task for task in environment.tasks("test.small") if task.stratum == stratum)
    environment.reset(task)
    step = environment.step("impossible: no way")
    assert (step.done, step.success, step.reward) == (True, success, float(success))
    assert step.validity is Validity.VALID


def test_the_target_in_the_output_slot_is_no_success_until_it_is_taken() -> None:
    environment = world(I1=("oak_planks", 5))
    assert environment._example is not None
    environment._example = environment._example._replace(target="oak_boat")
    lay_out_boat(environment)
    assert environment.slots[0] == Stack("oak_boat", 1)
    step = environment.step(move("0", "I9", 64))
    assert not step.done and step.validity is Validity.REFUSED
    step = environment.step(move("0", "I9", 1))
    assert step.success and dict(environment.slots) == {18: Stack("oak_boat", 1)}


def test_the_thirtieth_action_is_carried_out_and_ends_the_episode() -> None:
    environment = world(I1=("sand", 64))
    steps = [environment.step(move("I1", "I2", 1)) for _ in range(30)]
    assert [step.done for step in steps] == [False] * 29 + [True]
    assert "sand [I2] quantity 30" in steps[-1].observation and not steps[-1].success


def test_every_kind_of_answer_costs_a_step() -> None:
    environment = world(I1=("sand", 1))
    steps = [
        environment.step(text) for text in ["", " ", "think: a", "search: stick", move("I9", "I8", 1)] * 6
    ]
    assert [step.done for step in steps] == [False] * 29 + [True]


@pytest.mark.parametrize("text", ["", " ", "\n", "dance", "Move: from [I1] to [I2] with quantity 1"])
def test_what_names_no_action_is_malformed(text: str) -> None:
    step = world(I1=("sand", 1)).step(text)
    assert (
        step.observation == "Only select actions from the following: move, smelt, impossible, think, search"
    )
    assert step.validity is Validity.MALFORMED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (move("I1", "0", 1), "You cannot move items into [0]"),
        (move("I1", "0", 1, "smelt"), "You cannot smelt items into [0]"),
        (move("I1", "I1", 1), "[Source] and [Target] must be different"),
        (move("I1", "I37", 1), "[Target] must be [A1] to [C3] or [I1] to [I36]"),
        (move("I40", "I1", 1), "[Source] must be [0] or [A1] to [C3] or [I1] to [I36]"),
        (move("A4", "I1", 1), "[Source] and [Target] must be [0] or [A1] to [C3] or [I1] to [I36]"),
        (move("I1", "I2", 65), "quantity must be between 1 and 64"),
        ("move: from I1 to I2", "'NoneType' object has no attribute 'group'"),
    ],
)
def test_what_breaks_the_form_is_malformed(text: str, reason: str) -> None:
    step = world(I1=("sand", 1)).step(text)
    assert step.observation.startswith(f"Format Error: {reason}. Correct format: `")
    assert step.validity is Validity.MALFORMED


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(move("I5", "I6", 1), id="source is empty"),
        pytest.param(move("I1", "I6", 3), id="more than there is"),
        pytest.param(move("I1", "I2", 1), id="other item at the target"),
        pytest.param(move("I3", "I4", 3), id="target too full"),
        pytest.param(move("0", "I9", 1), id="nothing crafted"),
        pytest.param(move("I2", "I9", 1, "smelt"), id="no smelting recipe"),
        pytest.param(move("I1", "I9", 3, "smelt"), id="smelt more than there is"),
        pytest.param(move("I1", "I2", 1, "smelt"), id="product does not fit the target"),
        pytest.param(move("0", "I9", 1, "smelt"), id="smelt out of the output slot"),
        pytest.param("search: nothing_such", id="no such recipe"),
    ],
)
def test_what_is_not_possible_is_refused_and_changes_nothing(text: str) -> None:
    environment = world(I1=("sand", 2), I2=("stick", 2), I3=("egg", 4), I4=("egg", 14))
    before = dict(environment.slots)
    assert environment.step(text).validity is Validity.REFUSED
    assert environment.slots == before


def test_smelting_out_of_the_output_slot_is_refused_even_when_it_holds_something() -> None:
    environment = world(I1=("iron_nugget", 9))
    for slot in SLOT_NAMES[1:10]:
        environment.step(move("I1", slot[1:-1], 1))
    assert environment.slots[0] == Stack("iron_ingot", 1)
    assert environment.step(move("0", "I5", 1, "smelt")).validity is Validity.REFUSED


@pytest.mark.parametrize(
    "text", ["think: well", "search: stick", move("I1", "A1", 1), move("I1", "B2", 2, "smelt")]
)
def test_what_is_carried_out_is_valid(text: str) -> None:
    assert world(I1=("sand", 2)).step(text).validity is Validity.VALID


def test_taking_the_result_uses_one_of_every_ingredient_and_lays_out_the_next() -> None:
    environment = world(I1=("oak_log", 3))
    environment.step(move("I1", "B2", 3))
    environment.step(move("0", "I5", 4))
    assert dict(environment.slots) == {
        5: Stack("oak_log", 2),
        14: Stack("oak_planks", 4),
        0: Stack("oak_planks", 4),
    }


def test_no_recipe_makes_what_it_uses_so_no_effect_cannot_happen() -> None:
    for recipe in _all_recipes():
        assert recipe.result.item not in _ingredients(recipe)


def test_optional_actions_are_off_by_default() -> None:
    environment = PlancraftEnvironment()
    for text in ("think: a", "search: stick"):
        environment.reset(environment.tasks("test.small")[0])
        step = environment.step(text)
        assert step.observation == "Only select actions from the following: move, smelt, impossible"


def test_a_search_is_the_same_in_every_process_and_lays_out_real_recipes() -> None:
    code = (
        "from envs.plancraft.environment import PlancraftEnvironment as E;"
        "from envs.plancraft.settings import PlancraftSettings as S;"
        "e = E(S(search=True)); e.reset(e.tasks('val')[3]);"
        "print([e.step(f'search: {i}').observation for i in ('charcoal', 'stick', 'chest', 'fire_charge')])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1 and "smelt {'acacia_log', " in next(iter(answers))


@pytest.mark.parametrize("product", ["chest", "fire_charge", "stick", "white_bed", "oak_boat"])
def test_what_a_search_shows_can_be_crafted(product: str) -> None:
    environment = world()
    for entry in environment.step(f"search: {product}").observation.split("recipe ")[1:]:
        grid: list[str | None] = [None] * 9
        for line in entry.split("\n")[1:-1]:
            item, slot = line.split(" at ")
            grid[(slot_index(slot) or 0) - 1] = item
        crafted = recipe_book().crafted(tuple(grid))
        assert crafted and crafted.item == product


def test_the_example_is_not_changed_by_play() -> None:
    environment = PlancraftEnvironment()
    task = environment.tasks("val.small")[5]
    first = environment.reset(task)
    for source in SLOT_NAMES[10:]:
        if environment.step(move(source[1:-1], "A1", 1)).done:
            break
    assert environment.reset(task) == first


def test_no_code_of_the_package_is_imported() -> None:
    code = (
        "import sys; from envs import registry; registry.create('plancraft', {}).tasks('test.small');"
        "print(sorted(m for m in ('plancraft', 'PIL', 'numpy', 'ray') if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# --- rules -------------------------------------------------------------------------------------


def test_the_rules_are_the_packages_own_without_demonstrations() -> None:
    from plancraft.environment.prompts import get_system_prompt

    from tests.envs.plancraft_replay import ALL_ACTIONS, THREE_ACTIONS

    for names, handlers in ((THREE, THREE_ACTIONS), (tuple(ACTIONS), ALL_ACTIONS)):
        theirs = get_system_prompt(handlers)["content"].replace("\t", "    ")
        assert rules(names) == theirs


# --- properties --------------------------------------------------------------------------------


@given(
    st.text()
    | st.lists(st.sampled_from(["move:", " from [I1]", " to [A2]", " with quantity 3", "x"])).map("".join)
)
def test_any_text_is_read_as_some_action(text: str) -> None:
    action = parse(text, THREE)
    if not any(f"{name}:" in text for name in THREE):
        assert isinstance(action, Malformed)


@given(st.integers(0, 45), st.integers(1, 45), st.integers(1, 64), st.text(alphabet="abc \n.,"))
def test_a_move_is_read_back_whatever_stands_around_it(
    source: int, target: int, quantity: int, prose: str
) -> None:
    text = (
        f"{prose} move: from {SLOT_NAMES[source]} to {SLOT_NAMES[target]} with quantity {quantity}\n{prose}"
    )
    expected = Malformed if source == target else Move
    assert isinstance(parse(text, THREE), expected)
    assert source == target or parse(text, THREE) == Move(source, target, quantity)


def test_only_the_rest_of_the_line_is_the_reason() -> None:
    assert parse("impossible: no wood\nand so on", THREE) == Stop("no wood")


@given(st.lists(st.tuples(st.integers(0, 45), st.integers(1, 45), st.integers(1, 64)), max_size=29))
def test_moves_never_make_or_lose_items_outside_the_output(moves: list[tuple[int, int, int]]) -> None:
    environment = world(I1=("diorite", 20), I2=("granite", 7))
    for source, target, quantity in moves:
        step: Step = environment.step(move(SLOT_NAMES[source][1:-1], SLOT_NAMES[target][1:-1], quantity))
        assert not step.done
        held = Counter[str]()
        for slot, stack in environment.slots.items():
            assert 1 <= stack.quantity <= 64
            held[stack.item] += stack.quantity if slot else 0
        if not source:
            return
        assert held == {"diorite": 20, "granite": 7}


# --- the package's files -----------------------------------------------------------------------


def _all_recipes() -> list[Recipe]:
    book = recipe_book()
    return [recipe for product in book.products() for recipe in book.recipes(product)]


def _ingredients(recipe: Recipe) -> set[str]:
    if isinstance(recipe, Shaped):
        return {item for layout in recipe.layouts for cell in layout if cell for item in cell}
    if isinstance(recipe, Shapeless):
        return {item for items in recipe.ingredients for item in items}
    return set(recipe.ingredients)


def test_all_recipes_of_the_three_kinds_are_read() -> None:
    kinds = Counter(type(recipe) for recipe in _all_recipes())
    assert kinds == {Shaped: 491, Shapeless: 143, Smelting: 53}


def test_no_grid_has_two_results() -> None:
    shaped = [(layout, r) for r in _all_recipes() if isinstance(r, Shaped) for layout in r.layouts]
    by_places: dict[tuple[bool, ...], list[tuple[tuple[set[str], ...], Shaped]]] = {}
    for layout, recipe in shaped:
        cells = tuple(set(cell or ()) for cell in layout)
        by_places.setdefault(tuple(map(bool, cells)), []).append((cells, recipe))
    for group in by_places.values():
        for index, (cells, recipe) in enumerate(group):
            for others, other in group[index + 1 :]:
                overlap = all(not a or a & b for a, b in zip(cells, others, strict=True))
                assert not overlap or other.result == recipe.result
    seen: dict[tuple[str, ...], Stack] = {}
    for recipe in (r for r in _all_recipes() if isinstance(r, Shapeless)):
        for items in recipe.ingredients:
            assert seen.setdefault(items, recipe.result) == recipe.result
            for cells in ([c for c in layout if c] for layout, _ in shaped):
                assert len(cells) != len(items) or not _fits(list(items), cells)


def _fits(items: list[str], cells: list[tuple[str, ...]]) -> bool:
    """Whether the items can be put one to a cell."""
    if not cells:
        return True
    return any(
        item in cells[0] and _fits(items[:i] + items[i + 1 :], cells[1:]) for i, item in enumerate(items)
    )


def test_a_slotted_inventory_may_be_a_text() -> None:
    row = json.loads((package._folder() / "data" / "test.small.json").read_text("utf-8"))[0]
    assert package._example({**row, "slotted_inventory": json.dumps(row["slotted_inventory"])}) == (
        package._example(row)
    )
