"""ALFWorld's text to data: goals, observations, a history, recalled source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backbones.scripted.alfworld.core import class_name
from backbones.scripted.alfworld.facts import EXAMINE, NAMELESS, NEAR, PUT, TWO, Facts, Kind, grown, together
from backbones.scripted.alfworld.goals import Goal, goal_in
from backbones.scripted.alfworld.memory import facts_in, kind_named
from backbones.scripted.alfworld.reading import Deed, Sight, places_in, told_in
from backbones.scripted.alfworld.world import Event, World, world_in
from tests.scripted.alfworld_texts import ROOM, room

LAMP = Goal("cd", lamp="desklamp")


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("put a mug in desk.", Goal("mug", place="desk")),
        ("put some peppershaker on drawer.", Goal("peppershaker", place="drawer")),
        ("put two cd in safe.", Goal("cd", 2, place="safe")),
        ("find two pillow and put them in sofa.", Goal("pillow", 2, place="sofa")),
        ("clean some cloth and put it in countertop.", Goal("cloth", 1, "clean", "countertop")),
        ("put a clean egg in microwave.", Goal("egg", 1, "clean", "microwave")),
        ("heat some apple and put it in fridge.", Goal("apple", 1, "heat", "fridge")),
        ("put a hot cup in cabinet", Goal("cup", 1, "heat", "cabinet")),
        ("cool some pan and put it in countertop.", Goal("pan", 1, "cool", "countertop")),
        ("put a cool tomato in microwave.", Goal("tomato", 1, "cool", "microwave")),
        ("look at alarmclock under the desklamp.", Goal("alarmclock", lamp="desklamp")),
        ("examine the cd with the desklamp.", LAMP),
        ("Goal: Your task is to: examine the cd with the desklamp.\n\nObservation:\nA room.", LAMP),
        ("boil water", None),
    ],
)
def test_goals_are_read_in_each_of_their_phrases(text: str, goal: Goal | None) -> None:
    assert goal_in(text) == goal


def test_places_are_read_in_their_order() -> None:
    assert places_in(f"{ROOM}a bed 1, a desk 2, and a desk 1.") == ("bed 1", "desk 2", "desk 1")
    assert places_in("You are in the kitchen. You see a sink.") == ()


def test_observations_are_read() -> None:
    told = told_in("You arrive at shelf 3. On the shelf 3, you see a bowl 1, and a desklamp 1.")
    assert told.arrived == "shelf 3"
    assert told.sights == (Sight("shelf 3", False, False, ("bowl 1", "desklamp 1")),)
    told = told_in("You open the safe 1. The safe 1 is open. In it, you see nothing.")
    assert told.sights == (Sight("safe 1", True, False, ()),)
    assert told_in("You arrive at drawer 1. The drawer 1 is closed.").sights[0].is_closed
    assert told_in("You pick up the pen 1 from the drawer 3.").taken == Deed("pen 1", "drawer 3")
    assert told_in("You move the pen 1 to the drawer 3.").put == Deed("pen 1", "drawer 3")
    heated = told_in("You heat the mug 2 using the microwave 1.").changed
    assert heated == Deed("mug 2", "microwave 1", "heat")
    assert told_in("You turn on the desklamp 1.").lit == "desklamp 1"
    assert told_in("Nothing happens.").nothing
    assert told_in("There's nothing special about pen 1.") == told_in("You are carrying: a pen 1.")


def world(goal: Goal, *steps: tuple[str, str]) -> World:
    places = places_in(room("drawer 2", "drawer 1", "oven 1", "desk 1"))
    return world_in(goal, places, (Event(*step) for step in steps))


def test_a_history_shows_where_things_are_and_were() -> None:
    seen = world(
        Goal("pen", place="desk"),
        ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed."),
        ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a pen 1, and a cd 2."),
        ("take pen 1 from drawer 1", "You pick up the pen 1 from the drawer 1."),
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing."),
        ("move pen 1 to desk 1", "You move the pen 1 to the desk 1."),
    )
    assert seen.where("pen") == [("pen 1", "desk 1")]
    assert (seen.at, seen.held, seen.closed) == ("desk 1", [], {"drawer 1": False})
    facts = seen.facts()
    assert facts.of("pen") == Kind(seen={"drawer": 1})
    assert facts.of("drawer") == Kind(is_place=True, can_close=True)
    assert facts.of("oven") == Kind()


def test_a_change_is_tried_only_where_one_stands_with_the_thing() -> None:
    held = [("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1."),
            ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")]  # fmt: skip
    tried = world(Goal("mug", treatment="heat"), *held, ("heat mug 1 with desk 1", "Nothing happens."))
    assert tried.facts().failing("heat") == {"desk"}
    absent = world(Goal("mug", treatment="heat"), *held, ("heat mug 1 with oven 1", "Nothing happens."))
    assert absent.facts().failing("heat") == frozenset()
    there = ("go to oven 1", "You arrive at oven 1. The oven 1 is closed.")
    done = ("heat mug 1 with oven 1", "You heat the mug 1 using the oven 1.")
    assert world(Goal("mug", treatment="heat"), *held, there, done).facts().treating("heat") == {"oven"}


def test_a_history_shows_what_is_in_vain() -> None:
    pens = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cd 1, a cd 2, and a desklamp 1.")
    taken = ("take cd 1 from desk 1", "You pick up the cd 1 from the desk 1.")
    nothing = "Nothing happens."
    assert world(LAMP, pens, taken, ("take cd 2 from desk 1", nothing)).in_vain == {TWO}
    assert world(LAMP, pens, taken, ("put cd 1 in desk 1", nothing)).in_vain == {PUT}
    assert world(LAMP, pens, ("take cd 1 from desk", nothing)).in_vain == {NAMELESS}
    special = "There's nothing special about cd 1."
    assert world(LAMP, pens, taken, ("examine cd 1", special)).in_vain == {EXAMINE}
    near = ("examine drawer 2", "The drawer 2 is closed.")
    assert world(LAMP, pens, ("go to drawer 2", nothing), near).in_vain == {NEAR}
    assert world(LAMP, pens, near).in_vain == set()


def test_after_a_gap_one_may_stand_anywhere() -> None:
    events = [Event("go to desk 1", "You arrive at desk 1. On the desk 1, you see a cd 1.")]
    seen = world_in(LAMP, ("desk 1",), [*events, Event("look", "", follows=False)])
    assert seen.at == "" and seen.where("cd") == [("cd 1", "desk 1")]


def test_knowledge_is_added_up_or_put_together() -> None:
    old = Facts({"mug": Kind(seen={"desk": 2}), "oven": Kind(True, treats=frozenset({"heat"}))})
    new = Facts({"mug": Kind(seen={"desk": 1, "bed": 1}), "oven": Kind(True, fails=frozenset({"heat"}))})
    assert grown(old, new).of("mug").seen == {"desk": 3, "bed": 1}
    assert together(old, new).of("mug").seen == {"desk": 2, "bed": 1}
    assert together(old, new).treating("heat") == frozenset()


@pytest.mark.parametrize("kind", ["mug", "item", "place", "none", "object", "thing", "thingy"])
def test_a_kind_is_known_by_its_class(kind: str) -> None:
    assert class_name(kind).isidentifier()
    assert kind_named(class_name(kind)) == kind
    assert facts_in(f"```python\nclass {class_name(kind)}(Item):\n    seen = {{'bed': 1}}\n```").of(kind).seen


def test_what_is_no_table_is_not_recalled() -> None:
    text = "```python\nclass Mug:\n    seen = {'bed': -1, 3: 1, 'Bed 1': 1}\n    treats = 'heat'\n```"
    assert facts_in(text) == Facts({"mug": Kind(is_place=True)})


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    goal_in(text)
    places_in(text)
    told_in(text)
    facts_in(f"```python\n{text}\n```")
