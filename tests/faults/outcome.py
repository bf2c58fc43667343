"""What must hold once a disturbed sweep is complete."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from knowledge_store.lake.paths import chains
from knowledge_store.lake.reader import played
from tasks.mlflow_metrics import Running, episode_metrics
from tasks.mlflow_store import metric_name
from tests.e2e.command import digest, ocm
from tests.faults.driver import SWEEP

COUNTED = "SELECT count(*), count(DISTINCT (chain, episode)), count(DISTINCT chain) FROM episodes"
DURATIONS = "SELECT min(finished_at - started_at) AS shortest FROM episodes"


def check_lake(root: Path, undisturbed: str, chains_: int, limit: int) -> None:
    """The lake is the undisturbed one, byte for byte in trajectories and memories, and nothing is left over.

    ``undisturbed``: what ``ocm digest`` prints of it.
    """
    assert digest(root, SWEEP) == undisturbed
    total = chains_ * limit
    counted = ocm("sql", COUNTED, "--root", root, "--format", "csv")
    assert counted.out.splitlines()[1] == f"{total},{total},{chains_}", counted
    shortest = ocm("sql", DURATIONS, "--root", root, "--format", "jsonl")
    assert json.loads(shortest.out)["shortest"] >= 0, shortest
    assert left_over(root) == []
    checked = ocm("check", SWEEP, "--root", root)
    assert checked.code == 0, checked


def left_over(root: Path) -> list[Path]:
    """Journals, of which none may stand once the sweep is complete."""
    return sorted(path for path in (root / SWEEP / "chains").rglob("*.jsonl") if path.is_file())


def half_written(root: Path) -> list[Path]:
    """JSON files under real names that do not parse."""
    found = []
    for path in (root / SWEEP).rglob("*.json"):
        if path.name.startswith(".") or "prefect" in path.parts:
            continue
        try:
            json.loads(path.read_bytes())
        except ValueError:
            found.append(path)
    return found


def check_mlflow(root: Path, database: Path) -> int:
    """Each metric of each episode stands once, with the lake's value and time; returns their number."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        runs = dict(_chain_runs(connection))
        checked = 0
        for paths in chains(root, SWEEP):
            assert runs.pop(paths.chain, None) is not None, f"no run of {paths.chain}"
            wanted = _wanted(root, paths.chain)
            stands = _stands(connection, paths.chain)
            twice = {place: many for place, many in Counter(one[:2] for one in stands).items() if many > 1}
            assert not twice, f"{paths.chain}: stands more than once: {twice}"
            found = {(key, step): (value, stamp) for key, step, value, stamp in stands}
            assert found == wanted, _difference(found, wanted)
            checked += len(found)
        assert not runs, f"runs of no chain: {runs}"
    return checked


def _chain_runs(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    rows = connection.execute(
        "SELECT t.value, r.run_uuid FROM runs r JOIN tags t ON t.run_uuid = r.run_uuid AND t.key = 'chain'"
        " WHERE r.lifecycle_stage = 'active'"
    ).fetchall()
    twice = [chain for chain, many in Counter(chain for chain, _ in rows).items() if many > 1]
    assert not twice, f"more than one run of {twice}"
    return rows


def _stands(connection: sqlite3.Connection, chain: str) -> list[tuple[str, int, float, int]]:
    return connection.execute(
        "SELECT m.key, m.step, m.value, m.timestamp FROM metrics m"
        " JOIN tags t ON t.run_uuid = m.run_uuid AND t.key = 'chain' WHERE t.value = ?",
        (chain,),
    ).fetchall()


def _wanted(root: Path, chain: str) -> dict[tuple[str, int], tuple[float, int]]:
    wanted = {}
    running = Running()
    for episode, memory in played(root, SWEEP, chain):
        running = running.after(episode.trajectory)
        for name, value in episode_metrics(episode, memory, running).items():
            wanted[metric_name(name), episode.index] = (float(value), round(episode.finished_at * 1000))
    return wanted


def _difference(
    found: dict[tuple[str, int], tuple[float, int]], wanted: dict[tuple[str, int], tuple[float, int]]
) -> str:
    missing = sorted(wanted.keys() - found.keys())[:5]
    more = sorted(found.keys() - wanted.keys())[:5]
    other = [(one, found[one], wanted[one]) for one in wanted.keys() & found.keys()]
    wrong = [one for one in other if one[1] != one[2]][:5]
    return f"missing {missing}, too many {more}, wrong {wrong}"
