"""A short replay against the package's own wrapper; the full one: `python -m tests.envs.plancraft_replay`."""

from __future__ import annotations

import pytest

from envs.plancraft import table
from envs.plancraft.recipes import RecipeBook
from ocm.types import Validity
from tests.envs.plancraft_replay import compare_grids, replay_sets


def test_our_environment_answers_as_the_packages_wrapper() -> None:
    tally = replay_sets(("test.small", "val"), limit=4, rounds=1, seed=1)
    assert not tally.mismatches, tally.mismatches[0]
    assert tally.actions > 500 and tally.successes > 20 and tally.crafts > 30 and tally.limits > 5
    assert all(tally.validity[kind] > 50 for kind in (Validity.VALID, Validity.MALFORMED, Validity.REFUSED))


def test_grids_make_what_the_packages_recipes_make() -> None:
    count, different = compare_grids(per_recipe=1, seed=1, stride=8)
    assert count > 150 and not different


BREAKAGES: list[tuple[object, str, object]] = [
    (table, "_use_ingredients", lambda after, before: None),
    (table, "OUTPUT", 45),
    (RecipeBook, "smelted", lambda self, item: None),
    (RecipeBook, "crafted", lambda self, grid: None),
]


@pytest.mark.parametrize(("owner", "name", "broken"), BREAKAGES, ids=[name for _, name, _ in BREAKAGES])
def test_the_replay_notices_a_broken_rule(
    owner: object, name: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, broken)
    assert replay_sets(("test.small",), limit=3, rounds=1).mismatches
