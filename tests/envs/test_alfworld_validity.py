"""Every category, by recorded examples and by cases."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from envs.alfworld.validity import NOTHING, fits_a_template, validity
from ocm.types import Validity
from tests.envs.alfworld_messages import EXAMPLES

RECORDED = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
PLACES = {"drawer 1", "drawer 2", "fridge 1", "countertop 1"}
AT_DRAWERS = {
    *("go to fridge 1", "go to countertop 1", "examine drawer 1", "examine drawer 2", "examine mug 1"),
    *("open drawer 1", "close drawer 2", "move mug 1 to drawer 2", "look", "inventory", "help"),
}
"""Mug in hand, before two drawers of one place, of which the second is open."""


@pytest.mark.parametrize("example", RECORDED, ids=[f"{one['validity']}-{one['action']}" for one in RECORDED])
def test_recorded_actions_have_their_category(example: dict[str, Any]) -> None:
    found = validity(
        example["action"], set(example["before"]), set(example["receptacles"]), example["changed"]
    )
    assert found == example["validity"]


def test_the_examples_show_every_category_of_accepted_and_of_other_actions() -> None:
    kinds = Counter((one["observation"] == NOTHING, one["validity"]) for one in RECORDED)
    assert set(kinds) == {
        *((True, kind) for kind in ("malformed", "refused", "no_effect")),
        *((False, kind) for kind in ("valid", "no_effect")),
    }


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("go to drawer 1", Validity.NO_EFFECT),
        ("go to drawer 2", Validity.NO_EFFECT),
        ("go to mug 1", Validity.REFUSED),
        ("go to drawer 3", Validity.REFUSED),
        ("go to the kitchen", Validity.REFUSED),
        ("open drawer 2", Validity.NO_EFFECT),
        ("close drawer 1", Validity.NO_EFFECT),
        ("open fridge 1", Validity.REFUSED),
        ("close fridge 1", Validity.REFUSED),
        ("move mug 1 to drawer 1", Validity.REFUSED),
        ("take mug 1 from drawer 2", Validity.REFUSED),
        ("examine countertop 1", Validity.REFUSED),
        ("heat mug 1 with drawer 1", Validity.REFUSED),
        ("put mug 1 in/on drawer 2", Validity.MALFORMED),
        ("Go to fridge 1", Validity.MALFORMED),
        ("go  to fridge 1", Validity.MALFORMED),
        ("go to", Validity.MALFORMED),
        ("go to ", Validity.MALFORMED),
        ("look around", Validity.MALFORMED),
        ("open drawer 1\nopen drawer 2", Validity.MALFORMED),
        ("", Validity.MALFORMED),
        ("\x00", Validity.MALFORMED),
        ("go to fridge 1", Validity.VALID),
        ("  go to fridge 1\n", Validity.VALID),
    ],
)
def test_cases(action: str, expected: Validity) -> None:
    assert validity(action, AT_DRAWERS, PLACES, changed=True) is expected


@pytest.mark.parametrize("action", ["look", "inventory", "help", "examine mug 1", "examine drawer 1"])
def test_asking_is_valid_though_nothing_changes(action: str) -> None:
    assert validity(action, AT_DRAWERS, PLACES, changed=False) is Validity.VALID


def test_what_is_carried_out_without_a_change_has_no_effect() -> None:
    before = {"heat mug 1 with microwave 1"}
    assert validity("heat mug 1 with microwave 1", before, set(), changed=False) is Validity.NO_EFFECT
    assert validity("heat mug 1 with microwave 1", before, set(), changed=True) is Validity.VALID


def test_a_shape_says_nothing_of_the_things_that_are_named() -> None:
    assert fits_a_template("take anything at all from wherever it is")
    assert not fits_a_template("take anything") and not fits_a_template("grab mug 1 from shelf 1")
