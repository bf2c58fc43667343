"""Transitions as files, and their bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agents.acting import malformed_observation
from agents.buffer import verb_of
from agents.walle.harness import _action, _state
from agents.walle.judging import _told, _weight
from agents.walle.transitions import (
    TEXT_CHARS,
    Key,
    Played,
    Taken,
    bounded,
    finished,
    read,
    so_far,
    without,
    written,
)
from knowledge_store.memory import apply, diff
from ocm.types import Exchange, Observation, Step, Validity
from tests.agents.fakes import FIRST, step, trajectory

texts = st.text(max_size=8)
taken = st.builds(Taken, texts, texts, st.sampled_from([True, True, False, None]), st.none() | st.booleans())
steps = st.lists(taken, min_size=1, max_size=14).map(tuple)
episodes = st.lists(st.tuples(texts, texts, steps), max_size=5).map(
    lambda parts: [Played(number, *part) for number, part in enumerate(parts, start=1)]
)


def seen_by_rules(played: Played, index: int) -> object:
    return _state(_told(played), index), _action(played.steps[index].action)


@given(episodes)
def test_files_hold_them_whole(played: list[Played]) -> None:
    assert read(apply({}, diff({}, written(played)))) == played


@given(episodes, st.integers(1, 40))
def test_the_bound_takes_the_oldest_successes_first(played: list[Played], cap: int) -> None:
    every = {key: one for one in played for key in one.transitions()}
    kept = {key: one for one in bounded(played, cap) for key in one.transitions()}
    assert len(kept) == min(cap, len(every)) and kept.keys() <= every.keys()
    gone = [key for key in every if key not in kept]
    lost = [key for key in gone if every[key].steps[key.step].success]
    left = [key for key in kept if kept[key].steps[key.step].success]
    assert not left or len(lost) == len(gone), "a failure goes only where no success is left"
    assert not (left and lost) or max(lost) < min(left)


@given(episodes, st.integers(1, 20))
def test_rules_see_of_what_is_kept_what_they_saw_before(played: list[Played], cap: int) -> None:
    before = {one.number: one for one in played}
    for one in bounded(played, cap):
        for key in one.transitions():
            assert seen_by_rules(one, key.step) == seen_by_rules(before[one.number], key.step)
            assert one.steps[key.step] == before[one.number].steps[key.step]


def test_an_episode_without_transitions_is_no_file() -> None:
    played = Played(1, "g", "o", (Taken("a", "b", True), Taken("c", "d", True)))
    assert without(played, {Key(1, 0), Key(1, 1)}).steps == ()
    assert bounded([played, Played(2, "g", "o", played.steps)], 2)[0].number == 2


def test_acting_and_learning_see_the_same() -> None:
    long = "x" * (TEXT_CHARS + 5) + "\ud800"
    played = [step("go \ud800", text=long), step("take", text="ok"), step("eat", text="hm")]
    whole = finished(trajectory(*played), 1)
    exchanges = [Exchange(one.action, one.observation) for one in played[:2]]
    now = so_far(Observation(FIRST.goal, FIRST.text), exchanges)
    assert _state(_told(now), 2) == _state(_told(whole), 2)
    assert written([whole])["transitions/00001.json"].encode()


def test_a_long_episode_under_way_shows_rules_the_same_and_fits_into_the_sandbox() -> None:
    played = [step(f"go {number}", text=f"{number} {'é' * 2_000}") for number in range(100)]
    now = so_far(FIRST, [Exchange(one.action, one.observation) for one in played])
    assert _state(_told(now), 100) == _state(_told(finished(trajectory(*played), 1)), 100)
    assert _weight(_told(now)) < 80_000


def test_a_reply_without_an_action_is_a_step_and_no_transition() -> None:
    spoiled = Step("hm", malformed_observation(), 0.0, False, False, Validity.MALFORMED)
    wrong = Step("fly", "Format Error", 0.0, False, False, Validity.MALFORMED)
    played = finished(trajectory(step("go"), spoiled, wrong), 3)
    assert [one.success for one in played.steps] == [True, None, False]
    assert list(played.transitions()) == [Key(3, 0), Key(3, 2)]


def test_verbs() -> None:
    assert [verb_of(text) for text in ("move: from [I1]", "Look around", "", " ", "[x] y")] == [
        "move",
        "look",
        "",
        "",
        "x",
    ]
    assert all(_action(text)["verb"] == verb_of(text) for text in ("move: a", "[x] y", "", "GO."))
