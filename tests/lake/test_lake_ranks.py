"""Average ranks by hand-computed cases: ties, strata, several environments, incomplete cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.lake.ranks import PAPER, RankColumn, mid_ranks, parse_columns, rank
from knowledge_store.lake.results import Cell, CellResult
from knowledge_store.lake.statistics import UNKNOWN, student_t_interval
from ocm.errors import SpecError


def row(
    method: str,
    rate: float | None,
    reward: float | None = None,
    environment: str = "plancraft",
    stratum: str | None = None,
    backbone: str = "scripted",
) -> CellResult:
    """A complete cell of one seed; one that has not begun where a value is None."""
    values = {"success_rate": rate, "reward": rate if reward is None else reward}
    return CellResult(
        Cell(method, environment, "test", backbone, stratum),
        seeds_done=1,
        seeds_planned=1,
        seeds_in_cell=1,
        episodes_done=0 if rate is None else 10,
        episodes_planned=10,
        retried=0,
        measures={
            name: UNKNOWN if value is None else student_t_interval([value]) for name, value in values.items()
        },
    )


def means(rows: list[CellResult], *columns: RankColumn) -> dict[str, float | None]:
    return {method: one.mean for (_, method), one in rank(rows, columns).by.items()}


def test_ties_share_the_mean_of_their_places() -> None:
    assert mid_ranks({"a": 0.5, "b": 0.7, "c": 0.5, "d": 0.1}) == {"b": 1.0, "a": 2.5, "c": 2.5, "d": 4.0}
    assert mid_ranks({"a": 0.3, "b": 0.1 + 0.2, "c": 0.3}) == {"a": 2.0, "b": 2.0, "c": 2.0}
    assert mid_ranks({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1))
def test_ranks_add_up_to_those_of_an_order_without_ties(values: dict[str, float]) -> None:
    n = len(values)
    assert sum(mid_ranks(values).values()) == pytest.approx(n * (n + 1) / 2)


def test_success_rate_and_reward_of_each_environment_rank_by_default() -> None:
    rows = [
        row("ocm", 0.5, 0.6),
        row("react", 0.4, 0.7),
        row("ocm", 0.3, 0.2, "alfworld"),
        row("react", 0.3, 0.1, "alfworld"),
    ]
    assert means(rows) == {"ocm": (1 + 2 + 1.5 + 1) / 4, "react": (2 + 1 + 1.5 + 2) / 4}
    assert rank(rows).columns == (
        "plancraft.success_rate",
        "plancraft.reward",
        "alfworld.success_rate",
        "alfworld.reward",
    )
    assert rank(rows).by["scripted", "ocm"].ranks["alfworld.success_rate"] == 1.5


def test_a_column_of_strata_is_the_mean_rank_over_groups_and_all_together() -> None:
    rows = [
        row("ocm", 0.9, stratum="easy"),
        row("ocm", 0.1, stratum="hard"),
        row("ocm", 0.6),
        row("react", 0.8, stratum="easy"),
        row("react", 0.2, stratum="hard"),
        row("react", 0.5),
    ]
    column = RankColumn("plancraft", "success_rate", strata=True)
    assert means(rows, column) == {"ocm": pytest.approx(4 / 3), "react": pytest.approx(5 / 3)}
    assert means(rows, column._replace(strata=False)) == {"ocm": 1.0, "react": 2.0}


def test_an_incomplete_method_is_marked_and_moves_nobody() -> None:
    rows = [row("ocm", 0.5), row("react", 0.4), row("awm", 0.9), row("awm", None, environment="alfworld")]
    rows += [row("ocm", 0.1, environment="alfworld"), row("react", 0.2, environment="alfworld")]
    late = replace(row("awm", 0.9, environment="alfworld"), episodes_done=9)
    for unfinished in (rows, [*rows[:3], late, *rows[4:]], [*rows[:3], *rows[4:]]):
        assert means(unfinished) == {"ocm": 1.5, "react": 1.5, "awm": None}
        found = rank(unfinished).by["scripted", "awm"]
        assert found.incomplete == ("alfworld.success_rate", "alfworld.reward") and not found.ranks


def test_backbones_are_ranked_apart() -> None:
    rows = [
        row("ocm", 0.1),
        row("react", 0.2),
        row("ocm", 0.9, backbone="b"),
        row("react", 0.2, backbone="b"),
    ]
    found = rank(rows).by
    assert found["scripted", "ocm"].mean == 2.0 and found["b", "ocm"].mean == 1.0


def test_columns_are_read_and_only_the_papers_may_name_absent_environments() -> None:
    assert parse_columns("paper") == PAPER
    assert parse_columns("alfworld.success_rate, plancraft.reward.strata") == (
        RankColumn("alfworld", "success_rate"),
        RankColumn("plancraft", "reward", strata=True),
    )
    rows = [row("ocm", 0.5), row("react", 0.4)]
    assert rank(rows, PAPER).columns == ("plancraft.success_rate.strata",)
    for wrong in ("", "plancraft", "plancraft.tokens", "plancraft.reward.easy"):
        with pytest.raises(SpecError, match="success_rate, reward"):
            parse_columns(wrong)
    for absent in ("alfworld.reward", "plancraft.reward,alfworld.reward"):
        with pytest.raises(SpecError, match="by alfworld: this sweep has plancraft"):
            rank(rows, parse_columns(absent))
    with pytest.raises(SpecError, match=r"twice.*: plancraft\.reward$"):
        parse_columns("plancraft.reward, alfworld.reward,plancraft.reward")


def test_nothing_has_no_ranks() -> None:
    assert not rank([]).by
