"""ScienceWorld's text to rooms, things, goals and facts: on recorded episodes, and on any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backbones.scripted.scienceworld.facts import Facts, Range, Tally, claim, together
from backbones.scripted.scienceworld.goals import goal_in
from backbones.scripted.scienceworld.memory import facts_in
from backbones.scripted.scienceworld.observing import facts_of
from backbones.scripted.scienceworld.reading import (
    command_in,
    degrees_in,
    look_in,
    options_in,
    points_in,
    thing_in,
    worked,
)
from backbones.scripted.scienceworld.world import world_of
from tests.scripted.scienceworld_texts import ATTIC, GOAL, NOT_KNOWN, recorded, room

MENU = "Ambiguous request: Please enter the number for the action you intended (or blank to cancel):\n"


def test_a_room_is_read_with_what_is_in_what() -> None:
    text = room(
        "attic",
        {"cellar": "closed", "back yard": "open"},
        "a substance called fog",
        "a shelf. On the shelf is: a tin box (containing a red marble, a blue marble), a oil lamp, which is "
        "off.",
        "a crate. The crate door is open. In the crate is: nothing.",
        "a tub 2 (containing a fern in the adult stage. On the fern you see: a leaf. , mud)",
        "a dial, currently reading a temperature of -5 degrees celsius",
        "A book (Poems) titled Poems by Nobody",
    )
    look = look_in(text)
    assert look is not None and look.room == "attic"
    assert look.doors == (("cellar", False), ("back yard", True))
    assert [thing.name for thing in look.things] == ["fog", "shelf", "crate", "tub 2", "dial", "book"]
    inside = {thing.name: holder.name for thing, holder in look.everything if holder}
    assert inside == {
        "tin box": "shelf",
        "oil lamp": "shelf",
        "red marble": "tin box",
        "blue marble": "tin box",
        "fern": "tub 2",
        "mud": "tub 2",
    }
    assert [thing.name for thing, _ in look.everything if thing.is_off] == ["oil lamp"]
    assert degrees_in(look.things[4].text) == -5


def test_a_cut_description_says_nothing_of_doors() -> None:
    look = look_in(f"{ATTIC[:-20]}… (40 more characters)")
    assert look is not None and look.doors == () and look.things


def test_recorded_answers_are_taken_as_the_environment_takes_them() -> None:
    """What did not work is told from the answer alone, as the acting prompt has nothing else."""
    answers = [step for one in recorded() for step in one["steps"]]
    assert len(answers) > 150 and any(validity != "valid" for _, _, validity in answers)
    wrong = [(action, text) for action, text, validity in answers if worked(text) != (validity == "valid")]
    assert wrong == []


def test_every_recorded_room_is_read_whole() -> None:
    for one in recorded():
        for text in (one["first"], *(text for _, text, _ in one["steps"])):
            look = look_in(text)
            if look is None:
                continue
            listed = [line for line in text.splitlines() if line.startswith("\t")]
            assert len(look.things) + len(look.doors) + 1 == len(listed), text
            for thing, _ in look.everything:
                assert not set("(),.:") & set(thing.name), thing.name


def test_the_world_of_a_recorded_episode_is_where_the_text_says() -> None:
    for one in recorded():
        world = world_of(one["first"], [(action, text) for action, text, _ in one["steps"]])
        looks = [look_in(text) for _, text, _ in one["steps"]]
        seen = {look.room for look in looks if look}
        assert seen <= world.looks.keys() and len(seen) > 2
        goal = goal_in(one["goal"])
        assert goal is not None
        facts = facts_of(world, goal)
        for name, doors in facts.doors.items():
            assert all(name in facts.doors[door] for door in doors if door in facts.doors)


def test_goals_are_read_clause_by_clause() -> None:
    goal = goal_in(
        "Task Description:\nYour task is to measure the temperature of goo, which is located around the "
        "attic. First, focus on the dial. Next, focus on the goo. "
        "If the goo temperature is above 20.5 degrees celsius, place it in the pink box. "
        "If the goo temperature is below 20.5 degrees celsius, place it in the gray box. "
        "The boxes are located around the back yard."
    )
    assert goal is not None
    assert (goal.verb, goal.subject, goal.focuses) == ("measure", "goo", ("dial", "goo"))
    assert goal.places == ("attic", "back yard")
    assert [(branch.verb, branch.thing, branch.holds_at(30)) for branch in goal.branches] == [
        ("place", "pink box", True),
        ("place", "gray box", False),
    ]
    goal = goal_in(
        "Your task is to find a(n) imp. First, focus on the thing. "
        "Then, move it to the pink box in the attic."
    )
    assert goal is not None
    assert (goal.described, goal.focuses, goal.box, goal.box_room) == (("imp",), (), "pink box", "attic")
    goal = goal_in(
        "Your task is to use magic to create the substance 'green goo'. When done, focus on the green goo."
    )
    assert goal is not None and (goal.product, goal.focuses) == ("green goo", ("green goo",))
    goal = goal_in(
        "Your task is to decide which of the two ramps (A, B) is nicer. Focus on the ramp with the best view."
    )
    assert goal is not None and (goal.options, goal.described) == (("A", "B"), ("ramp with the best view",))
    assert goal_in("Your task is to: look at the mug under the lamp.") is None
    assert goal_in("Craft an item.") is None


def test_commands_menus_and_points() -> None:
    assert command_in("move the red marble to tin box") == ("move", "red marble", "tin box")
    assert command_in("go to attic") == command_in("go attic") == ("go", "attic", "")
    assert command_in("connect cell left end to coil a") == ("connect", "cell left end", "coil a")
    options = options_in(f"{MENU}0:\topen bin (in attic)\n1:\tmove x (in bin, in attic) to bin (in attic)\n")
    assert options == ("open bin", "move x to bin")
    assert points_in(
        "a cell. its left end is connected to: nothing. its right end is connected to: coil."
    ) == {
        "left end": "nothing",
        "right end": "coil",
    }


@given(st.text(), st.text())
def test_any_text_is_read_without_an_error(text: str, other: str) -> None:
    look_in(text)
    look_in(room(text, {other: "open"}, text, f"{text} (containing {other}"))
    thing_in(f"a {text} (containing {other})")
    command_in(text)
    options_in(MENU + text)
    goal = goal_in(f"Your task is to {text}. focus on {other}")
    world = world_of(
        ATTIC, [(text, other), (f"open {text}", MENU + other), ("0", text), ("go x", f"{text}\n")]
    )
    assert goal is not None
    facts_of(world, goal, False)
    facts_in(f"### objects.py\n```python\n{text}\n```")


def test_facts_add_up_and_are_counted_to_a_bound() -> None:
    older = Facts({"a": ("b",)}, {"a": ("x",)}, {"open": {"x": Tally(3, 1)}}, warmth={"x": Range(5, 9)})
    newer = Facts({"a": ("c",)}, {"a": ("y",)}, {"open": {"x": Tally(1, 1)}}, warmth={"x": Range(7, 30)})
    both = together(older, newer)
    assert both.doors == {"a": ("c",)} and both.things == {"a": ("x", "y")}
    assert both.tried == {"open": {"x": (3, 2)}} and both.warmth == {"x": (5, 30)}


def test_things_of_a_kind_are_assumed_to_be_alike() -> None:
    facts = Facts(tried={"open": {"red mug": Tally(0, 1), "blue mug": Tally(0, 1), "tin box": Tally(1, 0)}})
    assert facts.refuses("open", "green mug") and not facts.refuses("open", "gong")
    assert facts.works("open", "tin box") and not facts.works("open", "paper box")


def test_claims_are_statements_of_their_own() -> None:
    assert claim("it is heavy", "the Gong") == "the gong is heavy"
    assert claim("trait is dominant", "long nose") == "long nose trait is dominant"


def test_a_history_shows_what_allows_what() -> None:
    goal = goal_in(GOAL)
    assert goal is not None
    world = world_of(
        ATTIC,
        [
            ("open crate", "The crate is now open."),
            ("open lamp", "The lamp is not openable."),
            ("paint lamp", NOT_KNOWN),
            ("activate key", f"{MENU}0:\tactivate key (in crate, in attic)\n"),
            ("0", "The key is not something that can be activated."),
            ("mix tub", "Red and blue goo mix to produce violet goo."),
            ("read note", "The note reads:\nTo make green goo, you need to mix moss, blue goo."),
        ],
    )
    facts = facts_of(world, goal)
    assert facts.tried == {
        "open": {"crate": (1, 0), "lamp": (0, 1)},
        "say": {"paint": (0, 1)},
        "refer to": {"key": (0, 1)},
        "activate": {"key": (0, 1)},
        "read": {"note": (1, 0)},
        "mix": {"tub": (1, 0)},
    }
    assert facts.mixtures == {"blue goo + moss": "green goo"}
    assert facts.doors == {"attic": ("cellar",)}
