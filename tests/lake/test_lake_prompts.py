"""The acting prompt by episode, and who spends the tokens: by hand-computed cases over the lake."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.prompts import BUCKETS, bucket_label, prompt_table
from knowledge_store.lake.results import results_table
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id
from ocm.types import ChainKey
from tests.lake.fake import apply, fake_episode, fake_key


def play(root: Path, key: ChainKey, steps: list[int], cost: float | None = 0.001) -> PlannedChain:
    """A chain with these many steps, each one acting call of 100, 101, … tokens, and two calls to learn."""
    writer = ChainWriter(root, "demo", chain_id(key), key)
    memory: dict[str, str] = {}
    for index, count in enumerate(steps):
        episode = fake_episode(key, index, memory, steps=count, cost=cost)
        memory = apply(memory, episode.update.delta)
        writer.commit(replace(episode, memory_bytes=1_000 * (index + 1)))
    return PlannedChain(chain_id(key), key, len(steps))


def test_buckets_are_called_by_their_episodes() -> None:
    assert [bucket_label(start) for start in BUCKETS] == [
        "0",
        "1-4",
        "5-9",
        "10-19",
        "20-49",
        "50-99",
        "100+",
    ]


def test_sizes_and_spending_are_means_over_seeds_of_chain_means(tmp_path: Path) -> None:
    first = play(tmp_path, fake_key(seed=0), [1, 3, 5, 1, 1, 3])
    second = play(tmp_path, fake_key(seed=1), [3, 1])
    waiting = PlannedChain("later", fake_key("react"), 2)
    write_manifest(tmp_path, "demo", {"name": "demo"}, [first, second, waiting], {})
    row, react = prompt_table(tmp_path, "demo")
    # an episode of n steps has n acting prompts of 100 … 100 + n - 1 tokens, so 100 + (n - 1) / 2 on average
    assert row.prompt_tokens == {
        0: pytest.approx((100 + 101) / 2),
        1: pytest.approx(((101 + 102 + 100 + 100) / 4 + 100) / 2),
        5: pytest.approx(101),
    }
    assert row.acting is not None and row.learning is not None
    assert row.acting.calls == pytest.approx((14 / 6 + 2) / 2)
    assert (row.learning.calls, row.learning.cost) == (2, pytest.approx(0.002))
    # learning calls of an episode of n steps send 100 + n and 101 + n tokens, and receive 10 each
    assert row.learning.tokens == pytest.approx(((14 * 2 + 6 * 221) / 6 + (4 * 2 + 2 * 221) / 2) / 2)
    assert (react.acting, react.learning, react.prompt_tokens, react.episodes_done) == (None, None, {}, 0)
    assert row.episodes_done == 8
    result = results_table(tmp_path, "demo")[0].measures
    assert result["calls"].mean == pytest.approx(row.acting.calls + row.learning.calls)
    assert result["tokens"].mean == pytest.approx(row.acting.tokens + row.learning.tokens)
    assert result["memory_bytes"].mean == (6_000 + 2_000) / 2
    assert result["rehearsal_steps"].mean == (1 + 0.5) / 2
    assert result["acting_prompt_tokens"].mean == pytest.approx(
        ((100 + 101 + 102 + 100 + 100 + 101) / 6 + 100.5) / 2
    )


def test_an_unknown_price_is_unknown_and_a_method_that_never_learns_spends_nothing(tmp_path: Path) -> None:
    key = fake_key("react")
    writer = ChainWriter(tmp_path, "demo", chain_id(key), key)
    episode = fake_episode(key, 0, {}, steps=2, cost=None)
    writer.commit(replace(episode, calls=episode.calls[:2]))
    write_manifest(tmp_path, "demo", {"name": "demo"}, [PlannedChain(chain_id(key), key, 1)], {})
    before = prompt_table(tmp_path, "demo")
    (row,) = before
    assert row.acting is not None and row.acting.cost is None
    assert row.learning == (0.0, 0.0, 0.0)
    writer.compact()
    assert prompt_table(tmp_path, "demo") == before
