"""ScienceWorld, turn by turn: the way, the search, menus, guesses; and what the memory changes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import backbones.scripted.scienceworld as package
from backbones.scripted.client import reply_to
from tests.scripted.scienceworld_texts import ATTIC, NOT_KNOWN, acting, recorded, room, turn
from tests.scripted.texts import request

CELLAR = room("cellar", {"attic": "open", "garden": "closed"}, "a mat")
OPENED, MOVED = "The door is now open.", "You move to the {}."
FIND = (
    "Your task is to find a(n) imp. First, focus on the thing. Then, move it to the pink box in the cellar."
)
MEMORY = {
    "objects.py": """class RoomAttic(Room):
    name = "attic"
    doors = ("cellar",)
    things = ("crate",)


class RoomCellar(Room):
    name = "cellar"
    doors = ("attic", "garden")
    things = ()


class RoomGarden(Room):
    name = "garden"
    doors = ("cellar",)
    things = ("gong",)


TRIED_OPEN = {"crate": (0, 2), "lamp": (0, 1)}
TRIED_IMP = {"old toad": (1, 0), "mat": (0, 1)}
MIXTURES = {"moss + mud": "goo"}
"""
}


def test_what_is_in_sight_is_done_as_the_task_says() -> None:
    messages = acting(room("attic", {"cellar": "closed"}, "a gong"))
    assert turn(messages).text == "focus on gong"


def test_unseen_rooms_are_looked_at_door_by_door() -> None:
    steps: list[tuple[str, str]] = []
    expected = [
        ("open door to cellar", OPENED),
        ("go to cellar", MOVED.format("cellar")),
        ("look around", CELLAR),
        ("open door to garden", OPENED),
        ("go to garden", MOVED.format("garden")),
    ]
    for action, observation in expected:
        assert turn(acting(ATTIC, *steps)).text == action
        steps.append((action, observation))


def test_closed_things_are_opened_when_all_rooms_were_seen() -> None:
    alone = ATTIC[: ATTIC.index("You also see")]
    assert turn(acting(alone)).text == "open crate"
    after = turn(acting(alone, ("open crate", "The crate is now open.")))
    assert after.text == "look around"


def test_the_memory_leads_straight_to_where_such_a_thing_was() -> None:
    steps = [("open door to cellar", OPENED), ("go to cellar", MOVED.format("cellar"))]
    assert turn(acting(ATTIC, *steps)).text == "look around"
    assert turn(acting(ATTIC, *steps, ("look around", CELLAR), memory=MEMORY)).text == "open door to garden"


def test_what_is_known_not_to_open_is_not_tried() -> None:
    alone = ATTIC[: ATTIC.index("You also see")]
    actions = {turn(acting(alone, memory=MEMORY), seed).text for seed in range(5)}
    assert actions and not actions & {"open crate", "open lamp"}


@pytest.mark.parametrize("memory", [None, MEMORY])
def test_a_guess_is_what_was_right_before(memory: dict[str, str] | None) -> None:
    here = room("cellar", {}, "a mat", "a old toad", "a tin toad", "a pink box (containing nothing)")
    wanted = {turn(acting(here, goal=FIND, memory=memory), seed).text for seed in range(20)}
    if memory:
        assert wanted == {"pick up old toad"}
    else:
        assert len(wanted) > 1


def test_what_was_found_is_brought_into_the_box() -> None:
    here = room("cellar", {}, "a old toad", "a pink box (containing nothing)")
    steps = [
        ("pick up old toad", "You move the old toad to the inventory."),
        ("focus on old toad", "You focus on it."),
    ]
    assert turn(acting(here, *steps, goal=FIND)).text == "move old toad to pink box"


def test_a_menu_is_answered_with_a_number() -> None:
    menu = (
        "Ambiguous request: Please enter the number\n"
        "0:\tfocus on gong (in attic)\n1:\tfocus on gong (in crate)\n"
    )
    here = room("attic", {}, "a gong", "a gong")
    move = turn(acting(here, ("focus on gong", menu)))
    assert move.text == "0"
    after = turn(acting(here, ("focus on gong", menu), ("0", "You can't do that.")))
    assert after.text not in ("focus on gong", "0")


def test_a_known_mixture_is_made() -> None:
    goal = "Your task is to use magic to create goo. When you are done, focus on the goo."
    here = room("attic", {}, "a tub (containing nothing)", "moss", "mud", "a crate")
    steps: list[tuple[str, str]] = []
    for action in ("pour moss in tub", "pour mud in tub", "mix tub"):
        assert turn(acting(here, *steps, goal=goal, memory=MEMORY)).text == action
        steps.append((action, "You do."))


def test_a_circuit_is_closed_point_by_point() -> None:
    goal = "Your task is to turn on the gong. First, focus on the gong."
    here = room("attic", {}, "a gong", "a cell", "a red cord", "a blue cord")
    ends = {"cord": ("left end", "right end")}
    steps: list[tuple[str, str]] = []
    for _ in range(16):
        action = turn(acting(here, *steps, goal=goal)).text
        name = action.removeprefix("look at ")
        points = ends.get(name.split()[-1], ("plus", "minus"))
        said = (
            f"a {name}. its {points[0]} is connected to: nothing. its {points[1]} is connected to: nothing."
        )
        steps.append(
            (
                action,
                said
                if action.startswith("look at")
                else "Done."
                if "gong" in action or "connect" in action
                else NOT_KNOWN,
            )
        )
    joined = [action for action, _ in steps if action.startswith("connect")]
    assert len(joined) == 4 and sum("gong" in action for action in joined) == 2
    assert sum("cell" in action for action in joined) == 2


def test_the_first_inspects_read_rooms_then_tables() -> None:
    first = turn(acting(ATTIC, memory=MEMORY, full=False)).text
    assert first == "Inspect[RoomAttic, RoomCellar, RoomGarden, TRIED_OPEN, TRIED_IMP, MIXTURES]"


def test_a_walk_to_and_fro_has_an_end() -> None:
    """Even in a world that answers everything alike, no way is gone for ever."""
    steps: list[tuple[str, str]] = []
    for _ in range(100):
        action = turn(acting(ATTIC, *steps)).text
        going = action.startswith("go to ")
        steps.append(
            (action, MOVED.format(action[6:]) if going else ATTIC if action == "look around" else OPENED)
        )
    walked = [action for action, _ in steps if action.startswith("go to ")]
    assert walked and max(map(walked.count, walked)) <= 12


def test_recorded_dialogues_are_answered_and_alike_every_time() -> None:
    for one in recorded():
        steps = [(action, text) for action, text, _ in one["steps"]]
        for size in range(0, len(steps), 7):
            messages = acting(one["first"], *steps[:size], goal=one["goal"])
            replies = {reply_to(request(messages), 0.0) for _ in range(2)}
            assert len(replies) == 1 and "Action:" in replies.pop()


def test_it_holds_no_knowledge_of_the_game() -> None:
    """No room's, thing's or substance's name of the recorded episodes stands in its code."""
    told = (text for one in recorded() for text in (one["first"], *(text for _, text, _ in one["steps"])))
    rooms = {name for text in told for name in re.findall(r"door to the ([a-z ]+?) \(", text)}
    assert len(rooms) >= 9
    things = {
        *(
            "thermometer",
            "stove",
            "oven",
            "fridge",
            "freezer",
            "sink",
            "lighter",
            "furnace",
            "fountain",
            "jug",
        ),
        *("water", "tin", "mercury", "soap", "paint", "sugar", "air", "soil", "seed", "ice", "wood"),
        *("battery", "wire", "bulb", "motor", "buzzer", "generator", "pot", "cup", "cupboard", "recipe"),
        *("animal", "plant", "tree", "egg", "turtle", "tortoise", "orange", "apple", "pea", "dominant"),
        *("conductive", "friction", "block", "shovel", "hive", "bee", "flower", "violet", "anode", "cathode"),
    }
    for path in Path(package.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
            ):
                words = f" {' '.join(re.findall(r'[a-z]+', node.value.lower()))} "
                known = [name for name in (*things, *rooms) if f" {name} " in words]
                assert not known or _is_a_pattern(node.value), f"{path.name}:{node.lineno} {known}"


def _is_a_pattern(text: str) -> bool:
    """The one form of words that names a place only to leave it out."""
    return "outside location" in text


def test_replies_do_not_depend_on_the_order_of_sets() -> None:
    """Acting and learning in two processes with other hash seeds."""
    script = (
        "from backbones.scripted.client import reply_to\n"
        "from tests.scripted.scienceworld_texts import acting, episode, recorded, updating\n"
        "from tests.scripted.texts import request\n"
        "for one in recorded():\n"
        "    steps = [(action, text) for action, text, _ in one['steps']]\n"
        "    for size in range(0, len(steps), 5):\n"
        "        print(reply_to(request(acting(one['first'], *steps[:size], goal=one['goal'])), 0.0))\n"
        "    messages = updating(episode(one['first'], *steps), {}, goal=one['goal'])\n"
        "    print(reply_to(request(messages, 'update'), 0.5))\n"
    )
    root = Path(package.__file__).parents[3]
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1 and len(found.pop()) > 10_000
