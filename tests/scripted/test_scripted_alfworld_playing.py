"""ALFWorld, one acting turn: look up, search, take, change, bring; always from the text alone."""

from __future__ import annotations

import pytest

from backbones.scripted.alfworld import astray, scene
from backbones.scripted.alfworld.facts import TWO
from backbones.scripted.alfworld.playing import decide
from backbones.scripted.alfworld.scene import read_scene
from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.player import Move
from ocm.types import Message
from tests.scripted.alfworld_texts import acting
from tests.scripted.texts import after

MEMORY = {
    "objects.py": '''"""Things."""


class Mug(Item):
    """Mug: seen at shelf."""

    seen = {"shelf": 3}


class Stove(Place):
    """Stove: can heat."""

    treats = ("heat",)


class Box(Place):
    """Box: cannot heat."""

    can_close = True
    fails = ("heat",)


NO_EFFECT = ("take a second thing", "put a thing")
''',
    "procedures/heat_with_stove.py": '"""Heat."""\n',
}
PLACES = ("box 1", "box 2", "box 3", "rug 1", "shelf 1", "stove 1")


@pytest.fixture(autouse=True)
def straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """No steps astray, and notes are read."""
    for name in ("DAWDLES", "SURE", "SLIPS", "RARELY"):
        monkeypatch.setattr(astray, name, 0.0)
    monkeypatch.setattr(scene, "READS", 1.0)


def turn(messages: list[Message], seed: int = 0) -> Move:
    found = read_scene(read_dialogue(messages), seed)
    assert found is not None
    return decide(found)


def dialogue(messages: list[Message], *steps: tuple[str, str]) -> list[Message]:
    said = [part for number, step in enumerate(steps, start=1) for part in after(step[0], number, step[1])]
    return [*messages, *said]


def test_memory_is_looked_up_by_what_the_goal_names() -> None:
    messages = acting("put a hot mug in box.", *PLACES, memory=MEMORY)
    assert turn(messages).text == "Inspect[Mug, Stove, NO_EFFECT]"
    messages += [Message("assistant", "Inspect[Mug, Stove, NO_EFFECT]"), Message("user", "Nothing.")]
    assert turn(messages).text.startswith("go to ")


def test_the_search_begins_where_things_were_seen() -> None:
    for seed in range(20):
        messages = acting("put a mug in box.", *PLACES, memory=MEMORY, full=True)
        assert turn(messages, seed).text == "go to shelf 1"
    without = {turn(acting("put a mug in box.", *PLACES), seed).text for seed in range(20)}
    assert len(without) > 3


MUG = (
    ("go to shelf 1", "You arrive at shelf 1. On the shelf 1, you see a mug 2."),
    ("take mug 2 from shelf 1", "You pick up the mug 2 from the shelf 1."),
)
STOVE = ("go to stove 1", "You arrive at stove 1. On the stove 1, you see nothing.")
HEATED = ("heat mug 2 with stove 1", "You heat the mug 2 using the stove 1.")
BOX = ("go to box 2", "You arrive at box 2. The box 2 is closed.")


def test_a_thing_is_found_changed_and_brought() -> None:
    messages = acting("heat some mug and put it in box.", *PLACES, memory=MEMORY, full=True)
    expected = ["go to shelf 1", "take mug 2 from shelf 1", "go to stove 1", "heat mug 2 with stove 1"]
    steps = (*MUG, STOVE, HEATED)
    for number, action in enumerate(expected):
        assert turn(dialogue(messages, *steps[:number])).text == action
    assert turn(dialogue(messages, *steps)).text.startswith("go to box")
    assert turn(dialogue(messages, *steps, BOX)).text == "open box 2"
    opened = ("open box 2", "You open the box 2. The box 2 is open. In it, you see a cup 1.")
    assert turn(dialogue(messages, *steps, BOX, opened)).text == "move mug 2 to box 2"


def test_without_memory_changes_are_tried_everywhere_but_not_twice() -> None:
    steps = list(MUG)
    tried = []
    for _ in PLACES:
        go = turn(dialogue(acting("put a hot mug in box.", *PLACES), *steps)).text
        if go.startswith("go to "):
            steps.append((go, f"You arrive at {go[6:]}. On the {go[6:]}, you see nothing."))
        heat = turn(dialogue(acting("put a hot mug in box.", *PLACES), *steps)).text
        steps.append((heat, "Nothing happens."))
        tried.append(heat)
    assert sorted(tried) == [f"heat mug 2 with {place}" for place in PLACES]


def test_one_thing_is_carried_at_a_time_once_that_is_known() -> None:
    goal = "put two mug in box."
    two = ("go to shelf 1", "You arrive at shelf 1. On the shelf 1, you see a mug 2, and a mug 1.")
    steps = (two, MUG[1])
    assert turn(dialogue(acting(goal, *PLACES), *steps)).text == "take mug 1 from shelf 1"
    refused = (*steps, ("take mug 1 from shelf 1", "Nothing happens."))
    assert turn(dialogue(acting(goal, *PLACES), *refused)).text.startswith("go to box")
    knowing = dialogue(acting(goal, *PLACES, memory=MEMORY, full=True), *steps)
    found = read_scene(read_dialogue(knowing), 0)
    assert found is not None and found.knows(TWO)
    assert decide(found).text.startswith("go to box")


def test_the_second_thing_is_brought_to_the_first() -> None:
    opened = ("open box 2", "You open the box 2. The box 2 is open. In it, you see nothing.")
    brought = ("move mug 2 to box 2", "You move the mug 2 to the box 2.")
    again = (
        ("go to rug 1", "You arrive at rug 1. On the rug 1, you see a mug 1."),
        ("take mug 1 from rug 1", "You pick up the mug 1 from the rug 1."),
    )
    messages = acting("find two mug and put them in box.", *PLACES, memory=MEMORY, full=True)
    for seed in range(10):
        text = turn(dialogue(messages, *MUG, BOX, opened, brought, *again), seed).text
        assert text == "go to box 2"


def test_a_thing_is_carried_to_the_light() -> None:
    goal = "look at mug under the lamp."
    lamp = ("go to rug 1", "You arrive at rug 1. On the rug 1, you see a lamp 1.")
    messages = acting(goal, *PLACES)
    assert turn(dialogue(messages, lamp, *MUG)).text == "go to rug 1"
    last = {turn(dialogue(messages, *MUG, lamp), seed).text for seed in range(20)}
    assert last == {"use lamp 1", "examine mug 2"}
    seen = ("examine mug 2", "There's nothing special about mug 2.")
    assert turn(dialogue(messages, *MUG, lamp, seen)).text == "use lamp 1"


def test_what_cannot_be_gone_to_is_left_or_examined() -> None:
    at = ("go to box 1", "You arrive at box 1. The box 1 is closed.")
    opened = ("open box 1", "You open the box 1. The box 1 is open. In it, you see nothing.")
    near = ("go to box 2", "Nothing happens.")
    messages = dialogue(acting("put a mug in box.", "box 1", "box 2"), at, opened, near)
    assert {turn(messages, seed).text for seed in range(20)} == {"examine box 2", "look"}


def test_it_forgets_where_it_has_looked() -> None:
    steps = [(f"go to {p}", f"You arrive at {p}. On the {p}, you see nothing.") for p in PLACES]
    messages = acting("put a mug in box.", *PLACES)
    assert turn(dialogue(messages, *steps)).text == f"go to {PLACES[0]}"
    assert turn(dialogue(messages, *steps[1:])).text == f"go to {PLACES[0]}"
    assert turn(dialogue(messages, *steps, steps[0])).text == f"go to {PLACES[1]}"


def test_some_steps_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    found = [turn(dialogue(acting("put a mug in box.", *PLACES), MUG[0]), seed).text for seed in range(400)]
    slips = found.count("take mug 2 from shelf")
    looks = sum(text in ("look", "inventory", "examine shelf 1") for text in found)
    assert 15 <= slips <= 50 and 140 <= looks <= 220
    assert found.count("take mug 2 from shelf 1") == len(found) - slips - looks


def test_notes_are_not_always_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    messages = acting("put a mug in box.", *PLACES, memory=MEMORY)
    read = sum(turn(messages, seed).text.startswith("Inspect") for seed in range(400))
    assert 205 <= read <= 275
