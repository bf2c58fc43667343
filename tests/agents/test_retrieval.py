"""Retrieval: the nearest text first, in any kind of text, the same in every process, and quietly."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.retrieval import Similar, most_similar

TASKS = [
    "Craft an item of type: oak_fence",
    "Craft an item of type: stone_bricks",
    "Craft an item of type: oak_planks",
    "Craft an item of type: glowstone",
    "Craft an item of type: stone_slab",
]


def order(query: str, texts: list[str], k: int = 9) -> list[int]:
    return [one.index for one in most_similar(query, texts, k)]


def test_shared_rare_words_decide() -> None:
    assert set(order("Craft an item of type: oak_door", TASKS, 2)) == {0, 2}
    first, second, *others = most_similar("Craft an item of type: stone_wall", TASKS, 9)
    assert {first.index, second.index} == {1, 4}
    assert second.score > 0.25 > max(other.score for other in others)


def test_of_equals_the_later_one_comes_first() -> None:
    assert order("heat an egg", ["heat an egg", "cool a mug", "heat an egg"]) == [2, 0, 1]
    assert order("unheard of", ["one", "two", "three"], 2) == [2, 1]


def test_the_own_text_has_the_score_one() -> None:
    (only,) = most_similar(TASKS[2], [TASKS[2]], 1)
    assert only.index == 0 and only.score == pytest.approx(1)


@pytest.mark.parametrize("query", ["", "…!", "the of and"])
def test_a_query_without_words_is_like_nothing(query: str) -> None:
    assert most_similar(query, ["a text", ""], 2) == [Similar(1, 0.0), Similar(0, 0.0)]


def test_no_texts_and_no_wish() -> None:
    assert most_similar("heat", [], 3) == []
    assert most_similar("heat", ["heat"], 0) == []


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=8), st.integers(0, 9))
def test_any_texts(query: str, texts: list[str], k: int) -> None:
    found = most_similar(query, texts, k)
    assert len(found) == min(k, len(texts)) == len({one.index for one in found})
    assert all(0 <= one.score <= 1 for one in found)
    assert found == sorted(found, key=lambda one: (-one.score, -one.index))


def test_it_is_quiet_and_does_not_hang_on_hash_seeds() -> None:
    code = f"from agents.retrieval import most_similar; print(most_similar('oak stone door', {TASKS!r}, 5))"
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert told[0].stdout == told[1].stdout and not told[0].stderr + told[1].stderr
    most_similar("a", ["a"], 1)
    assert not logging.getLogger("bm25s").isEnabledFor(logging.INFO)
