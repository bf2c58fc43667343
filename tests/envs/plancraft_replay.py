"""The same actions to our PlanCraft and to the package's own wrapper; every answer must be equal.

``python -m tests.envs.plancraft_replay`` plays all of ``test.small`` and ``val``. Of the package only
the pictures are left out (a table that paints nothing): recipes, state, texts and success are its own
code. Gold plans are used here, and only here, so that real crafts and successes happen.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from plancraft.environment import env as package_env
from plancraft.environment.actions import (
    ImpossibleActionHandler,
    MoveActionHandler,
    SmeltActionHandler,
    ThinkActionHandler,
)
from plancraft.environment.planner import decompose_subgoal, get_inventory_counter
from plancraft.environment.recipes import RECIPES, SmeltingRecipe, convert_ingredients_to_table
from plancraft.environment.search import GoldSearchActionHandler
from plancraft.simple import PlancraftGymWrapper, get_plancraft_examples

from envs.plancraft.environment import PlancraftEnvironment
from envs.plancraft.recipes import Shaped, Shapeless, recipe_book
from envs.plancraft.settings import PlancraftSettings
from envs.plancraft.slots import SLOT_NAMES
from ocm.types import TaskRef, Validity


class NoPictures:
    """Stands for the package's ``CraftingTableGUI``."""

    frame = None

    def __init__(self, resolution: str = "high") -> None: ...
    def add_item_to_slot(self, item_name: str, slot: int, quantity: int = 1) -> None: ...
    def remove_item_from_slot(self, slot: int) -> None: ...
    def clear(self) -> None: ...


ALL_ACTIONS = [
    MoveActionHandler(),
    SmeltActionHandler(),
    ImpossibleActionHandler(),
    ThinkActionHandler(),
    GoldSearchActionHandler(),
]
THREE_ACTIONS = ALL_ACTIONS[:3]


class Reference:
    """The package's wrapper without pictures; one object plays all examples."""

    def __init__(self, actions: list[Any]) -> None:
        self._actions = actions
        self._wrapper: Any = None

    def reset(self, example: Any) -> str:
        if self._wrapper is None:
            with patch.object(package_env, "CraftingTableGUI", NoPictures):
                self._wrapper = PlancraftGymWrapper(deepcopy(example), self._actions, max_steps=30)
        wrapper = self._wrapper
        wrapper.example = example
        wrapper.current_step, wrapper.stopped, wrapper.success = 0, False, False
        wrapper.environment.reset(deepcopy(example.slotted_inventory))
        return str(wrapper.step("")[0]["text"])

    def step(self, action: str) -> tuple[str, float, bool, bool]:
        """Text, reward, terminated, truncated."""
        observation, reward, terminated, truncated, _ = self._wrapper.step(action)
        return observation["text"], reward, terminated, truncated

    @property
    def success(self) -> bool:
        return bool(self._wrapper.success)

    @property
    def state(self) -> dict[int, tuple[str, int]]:
        held = self._wrapper.environment.state
        return {slot: (item["type"], item["quantity"]) for slot, item in held.items()}


@dataclass
class Tally:
    """What was compared, and what differed."""

    actions: int = 0
    episodes: int = 0
    successes: int = 0
    crafts: int = 0
    limits: int = 0
    validity: Counter[Validity] = field(default_factory=Counter)
    mismatches: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind}: {count}" for kind, count in sorted(self.validity.items()))
        return (
            f"{self.episodes} episodes, {self.actions} actions ({kinds}), {self.crafts} takes from [0], "
            f"{self.successes} successes, {self.limits} ends by the limit; mismatches: {len(self.mismatches)}"
        )


def replay(
    task: TaskRef,
    example: Any,
    script: Iterator[str],
    ours: PlancraftEnvironment,
    theirs: Reference,
    tally: Tally,
) -> None:
    """Play one episode on both sides and compare after each action; stops at the first difference."""
    tally.episodes += 1
    first = ours.reset(task).text
    if first != theirs.reset(example) or ours.slots != theirs.state:
        tally.mismatches.append(f"{task.id}: first observation")
        return
    for action in script:
        before = dict(ours.slots)
        step = ours.step(action)
        text, reward, terminated, _ = theirs.step(action or " ")
        tally.actions += 1
        tally.validity[step.validity] += 1
        tally.crafts += "from [0]" in action and ours.slots != before
        equal = (
            _same_text(step.observation, text)
            and step.reward == reward
            and step.success == theirs.success
            and ours.slots == theirs.state
            and (ours.slots != before) == (step.validity is Validity.VALID and _transfers(step.observation))
        )
        if equal and step.done and not terminated:
            tally.limits += 1
            _, _, _, equal = theirs.step("move: from [I1] to [I2] with quantity 1")
        elif step.done != terminated:
            equal = False
        if not equal:
            tally.mismatches.append(f"{task.id}: {action!r}: {step} against {text!r}, {reward}, {terminated}")
            return
        if step.done:
            tally.successes += step.success
            return


def _transfers(observation: str) -> bool:
    """Whether a valid action was a move or a smelt: they answer with the inventory."""
    return observation.startswith("Craft an item of type:")


def _same_text(ours: str, theirs: str) -> bool:
    if ours.startswith("Recipes to craft"):
        return _search_shape(ours) == _search_shape(theirs)
    return ours == theirs


def _search_shape(text: str) -> tuple[object, ...]:
    """A search's answer without what the package draws at random or prints in hash order."""
    lines = text.split("\n")
    smelts = [frozenset(line[len("smelt {") : -1].split(", ")) for line in lines if line.startswith("smelt ")]
    return lines[0], Counter(smelts), [line for line in lines if line.startswith("recipe ")]


# --- scripts -----------------------------------------------------------------------------------

MALFORMED = (
    "",
    " ",
    "\n",
    "hello",
    "Move: from [I1] to [A1] with quantity 1",
    "MOVE: FROM [I1] TO [A1] WITH QUANTITY 1",
    "move from [I1] to [A1] with quantity 1",
    "move:",
    "move: from [I1] to [A1]",
    "move: from I1 to A1 with quantity 1",
    "move: from [I1] to [0] with quantity 1",
    "smelt: from [I1] to [0] with quantity 1",
    "move: from [I1] to [I1] with quantity 1",
    "move: from [A4] to [I1] with quantity 1",
    "move: from [I0] to [A1] with quantity 1",
    "move: from [I37] to [A1] with quantity 1",
    "move: from [I1] to [I99] with quantity 1",
    "smelt: from [I99] to [I98] with quantity 1",
    "move: from [I01] to [A1] with quantity 1",
    "move: from [I100] to [A1] with quantity 1",
    "move: from [5] to [6] with quantity 1",
    "move: from [I1] to [A1] with quantity 0",
    "move: from [I1] to [A1] with quantity 65",
    "move: from [I1] to [A1] with quantity -1",
    "move: from [I1] to [A1] with quantity one",
    "move: from [I1] to [A1] with quantity " + "9" * 5000,
    "smelt: from [I37] to [0] with quantity 99",
    "smelt: [I1] [I2] 1",
    "impossible:",
    "impossible",
    "Impossible: no",
    "think about it",
    "search:",
    "craft: stick",
)
WELL_FORMED_TEMPLATES = (
    "{}",
    "I will do this.\n{}\nDone.",
    "remove: nothing; {} and then rest",
    "{} then move: from [I2] to [A2] with quantity 2",
    "```\n{}\n```",
    "think: first. {}",
    "{} search: stick",
    "Thought: it may be impossible: who knows. {}",
    "  {}  ",
)


def _occupied(ours: PlancraftEnvironment, draw: random.Random) -> int:
    return draw.choice(sorted(ours.slots)) if ours.slots else draw.randrange(46)


def random_action(ours: PlancraftEnvironment, draw: random.Random) -> str:
    """Mostly plausible, now and then anything."""
    kind = draw.random()
    if kind < 0.15:
        return draw.choice(MALFORMED)
    if kind < 0.18:
        return draw.choice(("think: hm", "search: stick", "search: nothing_such", "search:charcoal and more"))
    if kind < 0.19:
        return draw.choice(("impossible: I give up", "it is impossible: ", "impossible: a\nb"))
    source = 0 if 0 in ours.slots and draw.random() < 0.4 else _occupied(ours, draw)
    if kind < 0.24:
        source = draw.randrange(46)
    held = ours.slots.get(source)
    quantity = draw.choice((1, 1, 1, held.quantity if held else 1, draw.randint(1, 64)))
    near = draw.random()
    target = draw.randrange(1, 10) if near < 0.5 else draw.randrange(10, 46)
    if near > 0.85:
        target = _occupied(ours, draw)
    verb = "smelt" if draw.random() < 0.15 else "move"
    action = f"{verb}: from {SLOT_NAMES[source]} to {SLOT_NAMES[target]} with quantity {quantity}"
    template = draw.choice(WELL_FORMED_TEMPLATES) if draw.random() < 0.2 else "{}"
    return template.format(action)


def random_script(ours: PlancraftEnvironment, draw: random.Random) -> Iterator[str]:
    while True:
        yield random_action(ours, draw)


def gold_script(example: Any, ours: PlancraftEnvironment, draw: random.Random, noise: float) -> Iterator[str]:
    """The example's optimal path as actions, or ``impossible:``; with harmless noise in between."""
    for action in gold_actions(example):
        while draw.random() < noise:
            yield draw.choice((*MALFORMED, "move: from [0] to [I1] with quantity 64", "think: so"))
        yield action
    yield from random_script(ours, draw)


def gold_actions(example: Any) -> list[str]:
    """The package's own decomposition of the example's optimal path."""
    if example.impossible:
        return ["impossible: it cannot be done"]
    inventory = deepcopy(example.slotted_inventory)
    actions: list[str] = []
    for name, after in zip(example.optimal_path, example.inventory_trace, strict=True):
        recipe = _recipe_for(name, get_inventory_counter(inventory), after)
        subplan, inventory, _ = decompose_subgoal(inventory, recipe, after)
        actions += subplan
    return actions


def _recipe_for(name: str, before: Counter[str], after: dict[str, int]) -> Any:
    used = set(before - Counter(after))
    gained = sum((Counter(after) - before).values())
    return next(
        recipe
        for recipe in RECIPES[name]
        if used <= set(recipe.inputs)
        and recipe.can_craft_from_inventory(before)
        and (isinstance(recipe, SmeltingRecipe) or recipe.result.count == gained)
    )


# --- recipes -----------------------------------------------------------------------------------

Grid = list[str | None]
_CRAFTING = [recipe for of_item in RECIPES.values() for recipe in of_item if recipe.recipe_type != "smelting"]


def package_crafted(grid: Grid) -> tuple[str, int] | None:
    """What the package's own recipes make of a grid; all of its items must be used up."""
    table = convert_ingredients_to_table(grid)
    for recipe in _CRAFTING:
        if found := recipe.craft(table):
            result, indexes = found
            assert indexes == [index for index, item in enumerate(grid) if item]
            return result.item, result.count
    return None


def sampled_grids(draw: random.Random, per_recipe: int) -> Iterator[Grid]:
    """Grids of every recipe of ours, each followed by one that is changed in one slot."""
    book = recipe_book()
    items = sorted(RECIPES)
    for recipe in (recipe for product in book.products() for recipe in book.recipes(product)):
        for _ in range(per_recipe if isinstance(recipe, Shaped | Shapeless) else 0):
            grid: Grid = [None] * 9
            if isinstance(recipe, Shaped):
                layout = draw.choice(recipe.layouts)
                grid = [draw.choice(cell) if cell else None for cell in layout]
            elif isinstance(recipe, Shapeless):
                wanted = draw.choice(recipe.ingredients)
                for item, slot in zip(wanted, draw.sample(range(9), len(wanted)), strict=True):
                    grid[slot] = item
            yield grid
            changed = list(grid)
            changed[draw.randrange(9)] = draw.choice([None, draw.choice(items), draw.choice(grid)])
            yield changed


# --- the full run ------------------------------------------------------------------------------


def replay_sets(task_sets: tuple[str, ...], limit: int | None, rounds: int, seed: int = 0) -> Tally:
    """Per task: ``rounds`` of gold, gold with noise, random with three and with all actions."""
    tally = Tally()
    plain = PlancraftEnvironment(), Reference(THREE_ACTIONS)
    full = PlancraftEnvironment(PlancraftSettings(search=True, think=True)), Reference(ALL_ACTIONS)
    for task_set in task_sets:
        tasks = plain[0].tasks(task_set)
        examples = get_plancraft_examples(task_set)
        assert [task.id for task in tasks] == [example.id for example in examples]
        assert [task.stratum for task in tasks] == [example.complexity_split for example in examples]
        stride = 1 if limit is None else max(1, len(tasks) // limit)
        for task, example in list(zip(tasks, examples, strict=True))[::stride]:
            for number in range(rounds):
                draw = random.Random(f"{seed} {task.id} {number}")
                for ours, theirs in (plain, full):
                    replay(task, example, gold_script(example, ours, draw, 0.0), ours, theirs, tally)
                    replay(task, example, gold_script(example, ours, draw, 0.3), ours, theirs, tally)
                    replay(task, example, random_script(ours, draw), ours, theirs, tally)
    return tally


def compare_grids(per_recipe: int, seed: int = 0, stride: int = 1) -> tuple[int, list[Grid]]:
    """The number of grids looked up on both sides, and those with different results."""
    book = recipe_book()
    grids = list(sampled_grids(random.Random(seed), per_recipe))[::stride]
    return len(grids), [grid for grid in grids if book.crafted(tuple(grid)) != package_crafted(grid)]


def main() -> int:
    started = time.monotonic()
    tally = replay_sets(("test.small", "val"), limit=None, rounds=1)
    print(tally)
    count, different = compare_grids(per_recipe=10)
    print(f"{count} grids against the package's recipes; mismatches: {len(different)}")
    print(f"{time.monotonic() - started:.0f} s")
    for line in [*tally.mismatches, *map(str, different)][:20]:
        print(line)
    return 1 if tally.mismatches or different else 0


if __name__ == "__main__":
    sys.exit(main())
