"""The results table: the chain is the unit, and only what was planned counts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from knowledge_store.lake.manifest import PlannedChain, PlannedStratum, read_manifest, write_manifest
from knowledge_store.lake.results import results_table
from knowledge_store.lake.statistics import IntervalKind
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import StorageError
from ocm.identity import chain_id
from ocm.types import ChainKey
from tests.lake.fake import apply, fake_episode, fake_key


def play(
    root: Path, key: ChainKey, wins: str, *, cost: float | None = 0.001, attempt: int = 1
) -> PlannedChain:
    """A chain with one episode per letter: ``+`` won, ``-`` lost."""
    writer = ChainWriter(root, "demo", chain_id(key), key)
    memory: dict[str, str] = {}
    for index, letter in enumerate(wins):
        episode = fake_episode(
            key, index, memory, success=letter == "+", cost=cost, attempt=attempt, steps=index + 1
        )
        memory = apply(memory, episode.update.delta)
        writer.commit(episode)
    return PlannedChain(chain_id(key), key, len(wins))


def plan(root: Path, *chains: PlannedChain) -> None:
    write_manifest(root, "demo", {"name": "demo"}, chains, {"code": "0.1.0"})


def test_means_are_over_chains_not_episodes(tmp_path: Path) -> None:
    plan(
        tmp_path,
        play(tmp_path, fake_key(seed=0), "++++++++"),
        play(tmp_path, fake_key(seed=1), "--"),
        play(tmp_path, fake_key(seed=2), "+-"),
    )
    (row,) = results_table(tmp_path, "demo")
    rate = row.measures["success_rate"]
    assert (rate.mean, rate.n, rate.df) == (pytest.approx(0.5), 3, 2)
    assert (rate.low, rate.high) == (0.0, 1.0)
    assert row.complete
    assert (row.episodes_done, row.seeds_done) == (12, 3)
    assert row.measures["steps"].mean == pytest.approx((4.5 + 1.5 + 1.5) / 3)
    parts = sum(row.measures[name].mean or 0 for name in ("malformed", "refused", "no_effect"))
    assert row.measures["invalid_actions"].mean == pytest.approx(parts)


def test_only_planned_chains_and_episodes_count(tmp_path: Path) -> None:
    planned = play(tmp_path, fake_key(seed=0), "++--")
    play(tmp_path, fake_key(seed=1), "----")
    plan(tmp_path, dataclasses.replace(planned, episodes=2))
    (row,) = results_table(tmp_path, "demo")
    assert (row.episodes_done, row.episodes_planned, row.seeds_done) == (2, 2, 1)
    assert row.measures["success_rate"].mean == 1.0


def test_one_seed_is_marked(tmp_path: Path) -> None:
    plan(tmp_path, play(tmp_path, fake_key(), "+-+-"))
    (row,) = results_table(tmp_path, "demo")
    assert row.measures["success_rate"].kind is IntervalKind.WITHIN_SEED
    assert row.measures["reward"].kind is IntervalKind.POINT


def test_an_unknown_price_makes_an_unknown_cost(tmp_path: Path) -> None:
    plan(
        tmp_path,
        play(tmp_path, fake_key(seed=0), "+-"),
        play(tmp_path, fake_key(seed=1), "+-", cost=None, attempt=2),
    )
    (row,) = results_table(tmp_path, "demo")
    assert row.measures["cost"].mean is None
    assert row.measures["cost"].kind is IntervalKind.UNKNOWN
    assert row.retried == 2


def test_cells_that_have_not_begun_are_shown_incomplete(tmp_path: Path) -> None:
    react = fake_key("react")
    plan(tmp_path, play(tmp_path, fake_key(), "+-"), PlannedChain(chain_id(react), react, 4))
    rows = results_table(tmp_path, "demo")
    assert [(row.cell.method, row.complete, row.episodes_done) for row in rows] == [
        ("ocm", True, 2),
        ("react", False, 0),
    ]
    assert rows[1].measures["success_rate"].kind is IntervalKind.UNKNOWN


def test_compaction_changes_no_number(tmp_path: Path) -> None:
    keys = [fake_key(seed=seed) for seed in range(3)]
    plan(tmp_path, *(play(tmp_path, key, "+-+" + "+" * key.seed) for key in keys))
    before = results_table(tmp_path, "demo"), results_table(tmp_path, "demo", by_stratum=True)
    ChainWriter(tmp_path, "demo", chain_id(keys[1]), keys[1]).compact()
    assert (results_table(tmp_path, "demo"), results_table(tmp_path, "demo", by_stratum=True)) == before
    assert [row.cell.stratum for row in before[1]] == ["easy", "hard", "medium", None]
    assert before[1][-1:] == before[0]


def test_strata_stand_in_the_manifests_order_with_what_was_planned(tmp_path: Path) -> None:
    def planned(key: ChainKey, wins: str, **strata: int) -> PlannedChain:
        order = tuple(PlannedStratum(name, strata.get(name, 0)) for name in ("hard", "medium", "easy", "no"))
        return dataclasses.replace(play(tmp_path, key, wins), strata=order)

    plan(
        tmp_path,
        planned(fake_key(seed=0), "+-++", easy=2, medium=1, hard=1),
        planned(fake_key(seed=1), "-+", easy=1, medium=1),
        planned(fake_key(seed=2), "-", easy=1, medium=1),
    )
    rows = results_table(tmp_path, "demo", by_stratum=True)
    assert [
        (row.cell.stratum, row.seeds_done, row.seeds_planned, row.seeds_in_cell, row.complete) for row in rows
    ] == [
        ("hard", 1, 1, 3, True),
        ("medium", 2, 3, 3, False),
        ("easy", 3, 3, 3, True),
        (None, 3, 3, 3, True),
    ]
    hard, medium, easy, _ = (row.measures["success_rate"] for row in rows)
    assert (hard.kind, hard.mean) == (IntervalKind.WITHIN_SEED, 1.0)
    assert (medium.n, medium.mean) == (2, 0.5)
    assert (easy.n, easy.mean) == (3, pytest.approx(1 / 3))
    assert [row.episodes_planned for row in rows] == [1, 3, 4, 7]
    assert results_table(tmp_path, "demo") == rows[-1:]


def test_a_stratum_that_has_not_begun_is_shown_incomplete(tmp_path: Path) -> None:
    played = play(tmp_path, fake_key(), "+")
    strata = (PlannedStratum("medium", 1), PlannedStratum("easy", 1))
    plan(tmp_path, dataclasses.replace(played, episodes=2, strata=strata))
    medium, easy, both = results_table(tmp_path, "demo", by_stratum=True)
    assert (medium.episodes_done, medium.episodes_planned, medium.complete) == (0, 1, False)
    assert easy.complete and not both.complete


def test_a_manifest_keeps_the_first_runs_time(tmp_path: Path) -> None:
    chain = PlannedChain(chain_id(fake_key()), fake_key(), 3)
    plan(tmp_path, chain)
    first = read_manifest(tmp_path, "demo")
    plan(tmp_path, chain, dataclasses.replace(chain, chain="other"))
    second = read_manifest(tmp_path, "demo")
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert first.chains == (chain,)
    assert len(second.chains) == 2


def test_a_sweep_without_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"sweep\.json.*ocm run"):
        results_table(tmp_path, "demo")
