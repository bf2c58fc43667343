"""A finished sweep from outside: exit code, lake, MLflow, and every command that reads it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command import EPISODES, SMALL, Ended, digest, ocm, write_spec

Finished = tuple[Path, Ended]


def rows(root: Path, query: str) -> list[dict[str, object]]:
    ended = ocm("sql", query, "--root", root, "--format", "jsonl")
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_it_is_complete_and_says_so(small_sweep: Finished) -> None:
    _, ended = small_sweep
    assert ended.code == 0, ended.err
    end = ended.events[-1]
    assert end["event"] == "sweep_ended"
    assert end["complete"]
    assert sum(event["event"] == "episode" for event in ended.events) == 4 * EPISODES
    cells = {cell["method"]: cell for cell in end["results"]}
    assert cells["ocm"]["episodes_done"] == cells["ocm"]["episodes_planned"] == 2 * EPISODES
    assert cells["react"]["measures"]["success_rate"]["n"] == 2


def test_the_lake_agrees_with_what_was_told(small_sweep: Finished) -> None:
    root, ended = small_sweep
    told = [event for event in ended.events if event["event"] == "episode"]
    found = rows(root, "SELECT chain, episode, success, invalid_actions FROM episodes")
    key = ("chain", "episode", "success", "invalid_actions")
    assert sorted(tuple(event[name] for name in key) for event in told) == sorted(
        tuple(row[name] for name in key) for row in found
    )
    steps = rows(root, "SELECT count(*) AS n, sum((validity != 'valid')::INT) AS invalid FROM steps")[0]
    totals = rows(root, "SELECT sum(n_steps) AS n, sum(invalid_actions) AS invalid FROM episodes")[0]
    assert steps == totals


def test_ocm_learned_and_react_did_not(small_sweep: Finished) -> None:
    root, _ = small_sweep
    learned = rows(root, "SELECT method, count(*) AS n FROM memory GROUP BY 1")
    assert [row["method"] for row in learned] == ["ocm"]
    assert rows(root, "SELECT count(*) AS n FROM verdicts WHERE ok")[0]["n"] != 0


def test_the_same_command_plays_nothing_again(small_sweep: Finished, tmp_path: Path) -> None:
    root, _ = small_sweep
    before = digest(root)
    again = ocm("run", write_spec(tmp_path, SMALL.format(limit=EPISODES)), "--root", root, "--output", "json")
    assert again.code == 0, again.err
    assert not [event for event in again.events if event["event"] == "episode"]
    assert digest(root) == before


def test_mlflow_knows_each_episode_once(small_sweep: Finished) -> None:
    from mlflow import MlflowClient

    root, _ = small_sweep
    client = MlflowClient(f"sqlite:///{root / '.mlflow' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("ocm")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    chains = {run.data.tags["mlflow.runName"]: run for run in runs if "mlflow.parentRunId" in run.data.tags}
    episodes = rows(root, "SELECT chain, episode, success::INT AS success FROM episodes ORDER BY ALL")
    assert len(chains) == 4
    for name, run in chains.items():
        history = client.get_metric_history(run.info.run_id, "success")
        assert [(one.step, one.value) for one in sorted(history, key=lambda one: one.step)] == [
            (row["episode"], row["success"]) for row in episodes if row["chain"] == name
        ]
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert "success_rate/ocm/plancraft/scripted" in parent.data.metrics
    assert parent.info.status == "FINISHED"


def test_every_reading_command_reads_it(small_sweep: Finished) -> None:
    root, _ = small_sweep
    chain = rows(root, "SELECT chain FROM chains WHERE method = 'ocm' ORDER BY 1")[0]["chain"]
    for arguments, expected in [
        (("show", chain, 0), "Craft an item of type"),
        (("show", chain, 0, "--calls"), "--- system"),
        (("knowledge", "log", chain), "committed"),
        (("knowledge", "show", chain), "=== objects.py"),
        (("knowledge", "show", chain, "--signatures"), "## Object knowledge (objects.py)"),
        (("knowledge", "show", chain, "objects.py", "--episode", 0), "```python"),
        (("knowledge", "diff", chain, "--", -1), "+++ objects.py"),
        (("results", "small"), "SR %"),
        (("results", "small", "--strata", "--format", "markdown"), "| stratum |"),
        (("results", "small", "--format", "json"), '"success_rate"'),
        (("sql",), "episodes"),
        (("sql", "FROM episodes", "--format", "csv"), "sweep,chain,episode"),
        (("digest", "small", "--trajectories"), '"steps"'),
        (("mlflow", "sync", "small"), "MLflow knows all"),
    ]:
        command, *rest = arguments
        ended = ocm(command, *_with_root(command, rest, root))
        assert ended.code == 0, (arguments, ended.err)
        assert expected in ended.out, (arguments, ended.out[:500])


def _with_root(command: object, rest: list[object], root: Path) -> list[object]:
    split = 1 if command in ("knowledge", "mlflow") else 0
    return [*rest[:split], "--root", root, *rest[split:]]
