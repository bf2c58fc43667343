"""The results table of a sweep: means over seeds with intervals, per cell.

A cell is method × environment × task set × backbone. Only chains of the sweep's manifest count, and
of each only the episodes that the manifest plans: a lake may hold more, from earlier specs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from knowledge_store.lake.manifest import PlannedChain, read_manifest
from knowledge_store.lake.statistics import UNKNOWN, Interval, student_t_interval, wilson_interval
from knowledge_store.lake.views import query


class Measure(NamedTuple):
    """One column of the table: a value of each chain, most often the mean over its episodes."""

    name: str
    sql: str
    """Per-chain value, as an aggregate over the view ``episodes``. Sums of floats are ordered, so that
    equal lakes give equal tables to the last bit."""
    lowest: float | None
    highest: float | None
    meaning: str


MEASURES: tuple[Measure, ...] = (
    Measure("success_rate", "avg(success::INT)", 0.0, 1.0, "share of episodes that solved their task"),
    Measure("reward", "avg(reward ORDER BY episode)", 0.0, 1.0, "final reward"),
    Measure("invalid_actions", "avg(invalid_actions)", 0.0, None, "invalid actions per episode"),
    Measure("malformed", "avg(malformed)", 0.0, None, "actions not in the action language, per episode"),
    Measure("refused", "avg(refused)", 0.0, None, "actions understood but not possible, per episode"),
    Measure("no_effect", "avg(no_effect)", 0.0, None, "actions that changed nothing, per episode"),
    Measure("steps", "avg(n_steps)", 0.0, None, "environment actions per episode"),
    Measure("calls", "avg(n_calls)", 0.0, None, "model calls per episode"),
    Measure("rehearsal_steps", "avg(rehearsal_steps)", 0.0, None, "steps outside the episode, per episode"),
    Measure(
        "acting_prompt_tokens",
        "avg(acting_prompt_tokens ORDER BY episode)",
        0.0,
        None,
        "tokens sent per acting call: the size of the acting prompt",
    ),
    Measure(
        "memory_bytes",
        "arg_max(memory_bytes, episode)",
        0.0,
        None,
        "size of the memory after the last episode",
    ),
    Measure("tokens", "avg(prompt_tokens + completion_tokens)", 0.0, None, "tokens per episode"),
    Measure(
        "cost",
        "CASE WHEN count(cost) = count(*) THEN avg(cost ORDER BY episode) END",
        0.0,
        None,
        "US dollars per episode; unknown when one price is",
    ),
)


class Cell(NamedTuple):
    """What a row of the table is about."""

    method: str
    environment: str
    task_set: str
    backbone: str
    stratum: str | None
    """The benchmark's group of tasks, or None for all tasks together."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """One row of the results table."""

    cell: Cell
    seeds_done: int
    """Seeds with at least one episode."""
    seeds_planned: int
    seeds_in_cell: int
    """More than ``seeds_planned`` where a limit leaves the stratum to some seeds only."""
    episodes_done: int
    episodes_planned: int | None
    """None for a stratum in a lake of before strata were planned."""
    retried: int
    """Episodes that an infrastructure error made start again; they are included."""
    measures: Mapping[str, Interval]
    """By :class:`Measure` name, over per-chain means."""

    @property
    def complete(self) -> bool:
        """Whether every planned episode is in."""
        return self.episodes_done == self.episodes_planned


def results_table(root: Path, sweep: str, level: float = 0.95, by_stratum: bool = False) -> list[CellResult]:
    """The results of a sweep, in the order of its manifest.

    With ``by_stratum``, each cell's row comes after the rows of its strata. A stratum's mean is over
    the seeds that play it.

    Raises:
        StorageError: the sweep has no manifest, or the lake cannot be read.
    """
    rows = _chain_rows(root, sweep, by_stratum=False)
    parts = _chain_rows(root, sweep, by_stratum=True) if by_stratum else []
    results = []
    for cell, chains in planned_cells(root, sweep).items():
        known = {one.chain for one in chains}
        own = [row for row in parts if row["chain"] in known]
        for stratum in _strata(chains, own) if by_stratum else ():
            chosen = [row for row in own if row["stratum"] == stratum]
            results.append(_result(cell._replace(stratum=stratum), chains, chosen, level))
        results.append(_result(cell, chains, [row for row in rows if row["chain"] in known], level))
    return results


def planned_cells(root: Path, sweep: str) -> dict[Cell, list[PlannedChain]]:
    """The chains of each cell, in the manifest's order.

    Raises:
        StorageError: the sweep has no manifest, or it is damaged.
    """
    cells: dict[Cell, list[PlannedChain]] = defaultdict(list)
    for planned in read_manifest(root, sweep).chains:
        cells[_cell(planned)].append(planned)
    return cells


def _strata(chains: Sequence[PlannedChain], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The strata that are planned or played, in the manifest's order, then what it does not name."""
    planned = [one for chain in chains for one in chain.strata]
    played = sorted({row["stratum"] for row in rows})
    present = {one.stratum for one in planned if one.episodes}.union(played)
    return [one for one in dict.fromkeys([*(one.stratum for one in planned), *played]) if one in present]


def _cell(planned: PlannedChain) -> Cell:
    key = planned.key
    return Cell(key.method, key.environment, key.task_set, key.backbone, None)


def _chain_rows(root: Path, sweep: str, by_stratum: bool) -> list[dict[str, Any]]:
    """One row per chain (and stratum) with its means."""
    means = ", ".join(f"{measure.sql} AS {measure.name}" for measure in MEASURES)
    stratum = "episodes.stratum" if by_stratum else "NULL::VARCHAR"
    statement = f"""
        SELECT chain, {stratum} AS stratum, count(*) AS episodes, count(*) FILTER (success) AS successes,
               count(*) FILTER (attempt > 1) AS retried, {means}
        FROM episodes JOIN chains USING (sweep, chain)
        WHERE episode < planned GROUP BY 1, 2 ORDER BY 1, 2"""
    rows: list[dict[str, Any]] = query(root, statement, sweep).to_pylist()
    return rows


def _result(
    cell: Cell, chains: Sequence[PlannedChain], rows: Sequence[Mapping[str, Any]], level: float
) -> CellResult:
    counts = [_planned_episodes(chain, cell.stratum) for chain in chains]
    return CellResult(
        cell=cell,
        seeds_done=len(rows),
        seeds_planned=sum(count != 0 for count in counts),
        seeds_in_cell=len(chains),
        episodes_done=sum(row["episodes"] for row in rows),
        episodes_planned=None if None in counts else sum(count for count in counts if count),
        retried=sum(row["retried"] for row in rows),
        measures={measure.name: _interval(measure, rows, level) for measure in MEASURES},
    )


def _planned_episodes(chain: PlannedChain, stratum: str | None) -> int | None:
    """Those of a stratum, or of all; None where the manifest does not plan by stratum."""
    if stratum is None:
        return chain.episodes
    if not chain.strata:
        return None
    return sum(one.episodes for one in chain.strata if one.stratum == stratum)


def _interval(measure: Measure, rows: Sequence[Mapping[str, Any]], level: float) -> Interval:
    values = [row[measure.name] for row in rows]
    if None in values:
        return UNKNOWN
    if measure.name == "success_rate" and len(rows) == 1:
        return wilson_interval(rows[0]["successes"], rows[0]["episodes"], level)
    return student_t_interval(values, level).clipped(measure.lowest, measure.highest)
