"""What acting and learning take: the acting prompt's size as a chain goes on, and who spends the tokens.

Per-chain values come from the lake by SQL; a row is their mean over the seeds of a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from knowledge_store.lake.results import Cell, planned_cells
from knowledge_store.lake.views import query

BUCKETS = (0, 1, 5, 10, 20, 50, 100)
"""First episode (0-based) of each bucket; the last one is open."""


def bucket_label(start: int) -> str:
    """How the bucket that begins at this episode is called, such as ``1-4`` or ``100+``."""
    place = BUCKETS.index(start) + 1
    if place == len(BUCKETS):
        return f"{start}+"
    last = BUCKETS[place] - 1
    return f"{start}-{last}" if last > start else str(start)


class Spending(NamedTuple):
    """Per episode."""

    calls: float
    tokens: float
    """Sent and received."""
    cost: float | None
    """US dollars; None where a price is unknown."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One cell: means over its seeds."""

    cell: Cell
    episodes_done: int
    prompt_tokens: Mapping[int, float]
    """First episode of a bucket -> mean tokens of an acting prompt; only buckets with episodes."""
    acting: Spending | None
    """None before the first episode."""
    learning: Spending | None


def prompt_table(root: Path, sweep: str) -> list[PromptRow]:
    """One row per cell of the sweep, in the order of its manifest.

    Raises:
        StorageError: the sweep has no manifest, or the lake cannot be read.
    """
    sizes = query(root, _sizes(), sweep).to_pylist()
    spent = query(root, _SPENT, sweep).to_pylist()
    rows = []
    for cell, chains in planned_cells(root, sweep).items():
        known = {one.chain for one in chains}
        own = [row for row in spent if row["chain"] in known]
        acting, learning = ([row for row in own if row["acting"] is kind] for kind in (True, False))
        rows.append(
            PromptRow(
                cell,
                sum(row["episodes"] for row in acting),
                _means([row for row in sizes if row["chain"] in known]),
                _spending(acting),
                _spending(learning),
            )
        )
    return rows


def _means(sizes: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    found: dict[int, list[float]] = {start: [] for start in BUCKETS}
    for row in sizes:
        found[row["bucket"]].append(row["tokens"])
    return {start: fmean(values) for start, values in found.items() if values}


def _spending(rows: Sequence[Mapping[str, Any]]) -> Spending | None:
    if not rows:
        return None
    costs = [row["cost"] for row in rows]
    return Spending(
        fmean(row["calls"] for row in rows),
        fmean(row["tokens"] for row in rows),
        None if None in costs else fmean(costs),
    )


def _sizes() -> str:
    """One row per chain and bucket."""
    cases = " ".join(f"WHEN episode >= {start} THEN {start}" for start in reversed(BUCKETS))
    return f"""
        SELECT chain, CASE {cases} END AS bucket, avg(acting_prompt_tokens ORDER BY episode) AS tokens
        FROM episodes JOIN chains USING (sweep, chain)
        WHERE episode < planned AND acting_prompt_tokens IS NOT NULL GROUP BY ALL ORDER BY ALL"""


_SPENT = """
    WITH played AS (
        SELECT sweep, chain, count(*) AS episodes
        FROM episodes JOIN chains USING (sweep, chain) WHERE episode < planned GROUP BY ALL
    ), spent AS (
        SELECT sweep, chain, acting, count(*) AS calls, sum(prompt_tokens + completion_tokens) AS tokens,
               CASE WHEN count(cost) = count(*) THEN sum(cost ORDER BY episode, position) END AS cost
        FROM calls JOIN chains USING (sweep, chain) WHERE episode < planned GROUP BY ALL
    )
    SELECT chain, acting, episodes, coalesce(calls, 0) / episodes AS calls,
           (coalesce(tokens, 0) / episodes)::DOUBLE AS tokens,
           CASE WHEN calls IS NULL THEN 0.0 ELSE cost / episodes END AS cost
    FROM played CROSS JOIN (VALUES (true), (false)) AS kinds(acting)
         LEFT JOIN spent USING (sweep, chain, acting)
    ORDER BY ALL"""
"""One row per chain and kind of call, acting or learning, per episode."""
