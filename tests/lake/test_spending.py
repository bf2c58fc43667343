"""What a sweep has spent, by its commit records."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.lake.spending import Spending, Spent, joined
from knowledge_store.lake.writer import ChainWriter
from ocm.types import Call, Episode, Replay
from tests.lake.fake import fake_chain, fake_key


def priced(episode: Episode, cost: float | None, begin: float, end: float) -> Episode:
    calls = tuple(Call(one.request, replace(one.reply, cost=cost)) for one in episode.calls)
    return replace(episode, calls=calls, started_at=begin, finished_at=end)


@pytest.fixture
def writer(tmp_path: Path) -> ChainWriter:
    episodes = list(fake_chain(fake_key(), 3, steps=3))
    first = episodes[0]
    writer = ChainWriter(tmp_path, first.sweep, first.chain, first.key)
    for index, episode in enumerate(episodes[:2]):
        writer.commit(priced(episode, 0.5, 3600.0 * index, 3600.0 * index + 1800))
    return writer


def test_the_sum_of_what_was_committed(writer: ChainWriter, tmp_path: Path) -> None:
    episodes = list(fake_chain(fake_key(), 3, steps=3))
    sweep, chain = episodes[0].sweep, episodes[0].chain
    spending = Spending(tmp_path, sweep, [chain, "not-begun"])
    assert spending.of_sweep() == Spent()
    spending.refresh()
    calls = len(episodes[0].calls) + len(episodes[1].calls)
    used = [call.reply.usage for one in episodes[:2] for call in one.calls]
    tokens = sum(usage.prompt + usage.completion for usage in used)
    assert spending.of_chain(chain) == Spent(0.5 * calls, tokens, calls, 1.0)
    dropped = Replay(1, 2, "prompt", dropped=3, dropped_tokens=70, dropped_cost=2.0)
    last = priced(replace(episodes[2], replay=dropped), 0.5, 7200.0, 7200.0)
    writer.commit(last)
    before = spending.of_sweep()
    spending.refresh()
    after = spending.of_sweep()
    used = [call.reply.usage for call in last.calls]
    assert after.calls == before.calls + len(last.calls) + 3
    assert after.tokens == before.tokens + sum(one.prompt + one.completion for one in used) + 70
    assert after.usd == pytest.approx((before.usd or 0) + 0.5 * len(last.calls) + 2.0)
    assert spending.of_chain("not-begun") == Spent()


def test_one_unknown_price_makes_the_sum_unknown(writer: ChainWriter, tmp_path: Path) -> None:
    last = priced(list(fake_chain(fake_key(), 3, steps=3))[2], None, 0.0, 1.0)
    writer.commit(last)
    spending = Spending(tmp_path, last.sweep, [last.chain])
    spending.refresh()
    assert spending.of_sweep().usd is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=20))
def test_time_in_which_something_was_played_counts_once(pairs: list[tuple[int, int]]) -> None:
    stretches: list[tuple[float, float]] = []
    for begin, length in pairs:
        stretches = joined(stretches, (float(begin), float(begin + length)))
    seconds = {second for begin, length in pairs for second in range(begin, begin + length)}
    assert sum(end - begin for begin, end in stretches) == len(seconds)
    assert stretches == sorted(stretches)
    assert all(one[1] < other[0] for one, other in pairwise(stretches))
