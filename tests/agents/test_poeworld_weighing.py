"""The product of experts as numbers: weights follow what came, and stay within their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.poeworld.settings import PoeWorldSettings
from agents.poeworld.weighing import Variable, Vote, fitted, kept, likelihood, probability, value

SETTINGS = PoeWorldSettings()


def variable(came: bool, *votes: tuple[str, bool], attribute: str = "success") -> Variable:
    return Variable(attribute, came, tuple(Vote(*vote) for vote in votes))


def test_where_no_expert_speaks_what_is_usual_is_expected() -> None:
    assert probability(variable(True), {}) == pytest.approx(0.9)
    for attribute in ("reward", "state", "location"):
        assert probability(variable(True, attribute=attribute), {}) == pytest.approx(0.1)
    usual = [variable(True), variable(False, attribute="reward")]
    assert likelihood(usual, {}) > SETTINGS.surprise
    for surprising in (
        variable(False),
        variable(True, attribute="reward"),
        variable(True, attribute="state"),
    ):
        assert likelihood([*usual, surprising], {}) < SETTINGS.surprise


def test_what_was_right_gains_weight_and_what_foresees_nothing_ends_with_none() -> None:
    transitions = [[variable(False, ("a_1", False), ("b_2", True))]] * 6 + [
        [variable(True, ("c_3", True))]
    ] * 6
    weights = fitted(transitions, {"a_1": 0.5, "b_2": 0.5, "c_3": 0.5, "d_4": 0.5}, SETTINGS)
    assert weights["a_1"] > 1 and weights["b_2"] == weights["d_4"] == 0
    assert probability(variable(False, ("a_1", False)), weights) < 0.1
    assert set(kept(weights, SETTINGS)) == {"a_1", "c_3"}


def test_of_two_explanations_the_one_without_false_alarms_gets_the_weight() -> None:
    refused = [variable(False, ("narrow_1", False), ("wide_2", False))]
    carried_out = [variable(True, ("wide_2", False))]
    weights = fitted([refused] * 3 + [carried_out] * 3, {"narrow_1": 0.5, "wide_2": 0.5}, SETTINGS)
    assert weights["narrow_1"] > 1 and weights["wide_2"] < 0.1


def test_weights_are_those_of_greatest_likelihood() -> None:
    """Three of four times right: without a price for weight, the odds are 3 to 1."""
    transitions = [[variable(came, ("a_1", True), attribute="state")] for came in (True, True, True, False)]
    weights = fitted(transitions, {"a_1": 0.5}, PoeWorldSettings(l1=0.0))
    assert probability(transitions[0][0], weights) == pytest.approx(0.75, abs=1e-3)


def test_a_longer_history_makes_weight_dearer() -> None:
    once = [[variable(False, ("a_1", False))]]
    silent = [[variable(True)]]
    few, many = (fitted(once + silent * count, {"a_1": 0.5}, SETTINGS)["a_1"] for count in (10, 1_900))
    assert few > many > 0


def test_only_so_many_experts_are_kept_and_newer_ones_of_equals() -> None:
    weights = {f"look_{number:05}": 1.0 for number in range(6)} | {"move_00009": 0.5, "move_00002": 2.0}
    few = PoeWorldSettings(max_experts=3)
    assert kept(weights, few) == {"look_00004": 1.0, "look_00005": 1.0, "move_00002": 2.0}


def test_the_value_of_an_action_is_success_times_one_plus_reward() -> None:
    success, reward = variable(False, ("a_1", False)), variable(False, ("b_2", True), attribute="reward")
    weights = {"a_1": 1.0, "b_2": 1.0}
    expected = probability(success, weights) * (1 + probability(reward, weights))
    assert value([success, reward], weights) == pytest.approx(expected)


VOTES = st.lists(st.tuples(st.sampled_from(["a_1", "b_2", "c_3"]), st.booleans()), max_size=3)
TRANSITIONS = st.lists(st.lists(st.tuples(st.booleans(), VOTES), max_size=3), min_size=1, max_size=12)


@settings(max_examples=40)
@given(TRANSITIONS)
def test_weights_are_within_their_bounds_and_the_same_every_time(
    given: list[list[tuple[bool, list[tuple[str, bool]]]]],
) -> None:
    transitions = [[variable(came, *votes) for came, votes in one] for one in given]
    start = {"a_1": 0.5, "b_2": 0.5, "c_3": 10.0}
    weights = fitted(transitions, start, SETTINGS)
    assert weights == fitted(transitions, start, SETTINGS)
    assert all(0 <= theta <= 10 for theta in weights.values()) and set(weights) == set(start)
