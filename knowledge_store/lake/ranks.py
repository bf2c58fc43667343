"""Average ranks of methods within one backbone: pure functions of the results table.

Which columns the paper (OCM, arXiv 2607.02846, Table 1) averages over is an inference from its
denominators, so the columns are an argument. Only methods whose ranked cells are all complete are
ranked, and against each other only: one more or one less rival would shift everybody's ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from knowledge_store.lake.results import Cell, CellResult
from ocm.errors import SpecError

MEASURES = ("success_rate", "reward")
"""What methods can be ranked by: the more, the better."""
TIE_DIGITS = 9
"""Means that agree this far are a tie: sums of the same values in another order differ in the last bit."""


class RankColumn(NamedTuple):
    """One column that ranks the methods."""

    environment: str
    measure: str
    strata: bool = False
    """The mean rank over the benchmark's groups of tasks and all of them together, instead of the latter."""

    def __str__(self) -> str:
        return ".".join([self.environment, self.measure, *(["strata"] if self.strata else [])])


PAPER = (
    RankColumn("scienceworld", "success_rate"),
    RankColumn("scienceworld", "reward"),
    RankColumn("alfworld", "success_rate"),
    RankColumn("plancraft", "success_rate", strata=True),
)
"""The columns that the paper's denominators suggest."""


@dataclass(frozen=True, slots=True)
class AverageRank:
    """One method's ranks within a backbone; 1 is the best."""

    mean: float | None
    """None as long as one of its ranked cells is incomplete."""
    ranks: Mapping[str, float]
    """By column; empty where ``mean`` is None."""
    incomplete: tuple[str, ...]
    """The columns in which episodes are missing."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The average ranks of a sweep."""

    columns: tuple[str, ...]
    by: Mapping[tuple[str, str], AverageRank]
    """(backbone, method) -> its ranks."""


def parse_columns(text: str) -> tuple[RankColumn, ...]:
    """Columns from ``paper``, or from a list such as ``alfworld.success_rate,plancraft.reward.strata``.

    Raises:
        SpecError: a column is not of that form, or given twice.
    """
    if text == "paper":
        return PAPER
    found = tuple(_column(part.strip()) for part in text.split(","))
    doubled = [str(one) for one in dict.fromkeys(found) if found.count(one) > 1]
    if doubled:
        raise SpecError(f"given twice, which would count double: {', '.join(doubled)}")
    return found


def _column(text: str) -> RankColumn:
    match text.split("."):
        case [environment, measure] if measure in MEASURES:
            return RankColumn(environment, measure)
        case [environment, measure, "strata"] if measure in MEASURES:
            return RankColumn(environment, measure, strata=True)
    raise SpecError(
        f"{text!r} is no column to rank by: give paper, or ENVIRONMENT.MEASURE or "
        f"ENVIRONMENT.MEASURE.strata with a measure of {', '.join(MEASURES)}"
    )


def default_columns(rows: Sequence[CellResult]) -> tuple[RankColumn, ...]:
    """Success rate and reward of every environment that is present, in the table's order."""
    worlds = dict.fromkeys(row.cell.environment for row in rows)
    return tuple(RankColumn(world, measure) for world in worlds for measure in MEASURES)


def mid_ranks(values: Mapping[str, float]) -> dict[str, float]:
    """The rank of each name, 1 for the highest value; ties share the mean of their places."""
    rounded = {name: round(value, TIE_DIGITS) for name, value in values.items()}
    ranks = {}
    for name, value in rounded.items():
        above = sum(other > value for other in rounded.values())
        equal = sum(other == value for other in rounded.values())
        ranks[name] = above + (equal + 1) / 2
    return ranks


def rank(rows: Sequence[CellResult], columns: Sequence[RankColumn] = ()) -> Ranking:
    """Average ranks of all methods, backbone by backbone.

    Args:
        rows: the results table; with its strata where a column asks for them.
        columns: what to rank by; :func:`default_columns` when empty. Of ``PAPER``, those of environments
            that the table does not have are left out.

    Raises:
        SpecError: the table has none of the columns, or lacks an environment of a list other than ``PAPER``.
    """
    worlds = {row.cell.environment for row in rows}
    present = [one for one in columns or default_columns(rows) if one.environment in worlds]
    absent = dict.fromkeys(one.environment for one in columns if one.environment not in worlds)
    if rows and absent and (tuple(columns) != PAPER or not present):
        known = ", ".join(sorted(worlds))
        raise SpecError(f"cannot rank by {', '.join(absent)}: this sweep has {known}")
    by: dict[tuple[str, str], AverageRank] = {}
    for backbone in dict.fromkeys(row.cell.backbone for row in rows):
        chosen = [row for row in rows if row.cell.backbone == backbone]
        by |= {(backbone, method): found for method, found in _within(chosen, present).items()}
    return Ranking(tuple(map(str, present)), by)


def _within(rows: Sequence[CellResult], columns: Sequence[RankColumn]) -> dict[str, AverageRank]:
    """The ranks of the methods of one backbone."""
    parts = {str(column): part for column in columns if (part := _parts(rows, column))}
    methods = list(dict.fromkeys(row.cell.method for row in rows))
    gaps = {
        method: tuple(title for title, part in parts.items() if not all(method in one for one in part))
        for method in methods
    }
    rivals = [method for method in methods if not gaps[method]]
    ranks = {
        title: [mid_ranks({method: one[method] for method in rivals}) for one in part]
        for title, part in parts.items()
    }
    found = {}
    for method in methods:
        own = {title: fmean(one[method] for one in part) for title, part in ranks.items() if method in rivals}
        found[method] = AverageRank(fmean(own.values()) if own else None, own, gaps[method])
    return found


def _parts(rows: Sequence[CellResult], column: RankColumn) -> list[dict[str, float]]:
    """What a column ranks: method -> mean, for each task set and, if asked for, stratum.

    Incomplete cells are left out.
    """
    parts: dict[Cell, dict[str, float]] = {}
    for row in rows:
        if row.cell.environment != column.environment or (row.cell.stratum and not column.strata):
            continue
        part = parts.setdefault(row.cell._replace(method=""), {})
        mean = row.measures[column.measure].mean
        if row.complete and mean is not None:
            part[row.cell.method] = mean
    return list(parts.values())
