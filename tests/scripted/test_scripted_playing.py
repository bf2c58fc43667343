"""One acting turn: take, follow knowledge, look up, explore, give up; always from the text alone."""

from __future__ import annotations

import random

import pytest

from agents.parsing import parse_turn
from backbones.scripted.client import reply_to
from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.manner import _FORMS, written
from backbones.scripted.plancraft.playing import decide, read_scene
from backbones.scripted.player import Move
from ocm.types import Message, TurnKind
from tests.scripted.texts import acting, after, inventory, request

MEMORY = {
    "objects.py": """class Kind:
    recipes = {}


class Board(Kind):
    \"\"\"Makes elm_board.\"\"\"

    recipes = {"elm_log": ("elm_board", 4)}


class Shelf(Kind):
    \"\"\"Makes elm_shelf.\"\"\"

    recipes = {"elm_board elm_board elm_board": ("elm_shelf", 2)}


SMELTS = {"wet_clay": "brick"}


UNSMELTABLE = ("rag", "elm_log")
""",
}


def turn(messages: list[Message]) -> str:
    scene = read_scene(read_dialogue(messages))
    assert scene is not None
    return decide(scene, 0).text


def with_source(messages: list[Message], *names: str) -> list[Message]:
    """The dialogue after these names were inspected."""
    source = f"```python\n{MEMORY['objects.py']}```"
    return [*messages, Message("assistant", f"Inspect[{', '.join(names)}]"), Message("user", source)]


def test_the_target_is_taken() -> None:
    messages = [
        *acting("board", "I1 log 1"),
        *after("move: from [I1] to [A1] with quantity 1", 1, inventory("board", "0 board 4", "A1 log 1")),
    ]
    assert turn(messages) == "move: from [0] to [I1] with quantity 4"


def test_what_the_index_names_is_looked_up_within_the_limits() -> None:
    messages = acting("elm_shelf", "I1 elm_log 1", "I2 rag 3", memory=MEMORY)
    first = turn(messages)
    assert first.startswith("Inspect[Shelf")
    for _ in range(3):
        messages += [Message("assistant", "Inspect[X]"), Message("user", "'X' is not in memory.")]
    assert not turn(messages).startswith("Inspect")


def test_a_corrected_inspect_is_not_asked_again() -> None:
    messages = [
        *acting("elm_shelf", "I1 elm_log 1", memory=MEMORY),
        Message("assistant", "Inspect[Shelf]"),
        Message("user", "That reply could not be used: there is nothing to inspect yet. Reply again"),
    ]
    assert not turn(messages).startswith("Inspect")


@pytest.mark.parametrize("full", [False, True])
def test_known_recipes_are_chained(full: bool) -> None:
    messages = acting("elm_shelf", "I1 elm_log 1", "I2 rag 3", memory=MEMORY, full=full)
    if not full:
        messages = with_source(messages, "Shelf", "Board", "SMELTS", "UNSMELTABLE")
    assert turn(messages) == "move: from [I1] to [A1] with quantity 1"
    placed = inventory("elm_shelf", "0 elm_board 4", "A1 elm_log 1", "I2 rag 3")
    messages += after("move: from [I1] to [A1] with quantity 1", 1, placed)
    assert turn(messages) == "move: from [0] to [I1] with quantity 4"


def test_siblings_are_made_alike() -> None:
    messages = acting("ash_shelf", "I1 ash_board 3", "I2 rag 3", memory=MEMORY, full=True)
    assert turn(messages) == "move: from [I1] to [A1] with quantity 1"
    scene = read_scene(read_dialogue(messages))
    assert scene is not None
    assert "By analogy" in decide(scene, 0).thought


def test_an_observation_counts_more_than_the_memory() -> None:
    messages = acting("elm_board", "I1 elm_log 2", memory=MEMORY, full=True)
    nothing = inventory("elm_board", "A1 elm_log 1", "I1 elm_log 1")
    messages += after("move: from [I1] to [A1] with quantity 1", 1, nothing)
    scene = read_scene(read_dialogue(messages))
    assert scene is not None
    assert "As I know" not in decide(scene, 0).thought


def test_what_is_known_not_to_smelt_is_not_smelted() -> None:
    def smelted(memory: dict[str, str] | None) -> set[str]:
        """What is smelted when nothing ever has an effect."""
        messages = acting("robe", "I1 rag 1", "I2 tin 1", memory=memory, full=True)
        found = set()
        slots = {"I1": "rag", "I2": "tin"}
        for step in range(1, 25):
            action = turn(messages)
            if action.startswith("smelt"):
                found.add(slots[action.split("[")[1].split("]")[0]])
            messages += after(action, step, inventory("robe", "I1 rag 1", "I2 tin 1"))
        return found

    assert smelted(None) == {"rag", "tin"}
    assert smelted(MEMORY) == {"tin"}


def test_it_gives_up_at_the_last_step_only() -> None:
    state = inventory("robe", "I1 rag 1")
    messages = acting("robe", "I1 rag 64", "I2 tin 64")
    for step in range(1, 30):
        messages += after("move: from [I1] to [A1] with quantity 1", step, state)
    assert turn(messages).startswith("impossible: ")


@pytest.mark.parametrize("form", _FORMS)
def test_untidy_replies_can_be_read(form: object) -> None:
    action = "move: from [I2] to [A1] with quantity 1"
    assert callable(form)
    parsed = parse_turn(form("I try this.", action))
    assert (parsed.kind, parsed.content) == (TurnKind.ACTION, action)


def test_most_replies_are_tidy_and_few_are_unreadable() -> None:
    move = Move("I try this.", "smelt: from [I2] to [I3] with quantity 1")
    texts = [written(move, random.Random(seed)) for seed in range(2_000)]
    kinds = [parse_turn(text).kind for text in texts]
    assert 5 <= kinds.count(TurnKind.MALFORMED) <= 60
    assert set(kinds) == {TurnKind.ACTION, TurnKind.MALFORMED}
    assert sum(text.endswith(f"\n\nAction: {move.text}") for text in texts) > 1_600


def test_another_environment_gets_some_action() -> None:
    messages = [*acting("x", "I1 y 1")[:1], Message("user", "Goal: boil water\n\nObservation:\nA kitchen.")]
    assert parse_turn(reply_to(request(messages), 0.0)).kind is TurnKind.ACTION
