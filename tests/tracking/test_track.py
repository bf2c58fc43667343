"""Tracking against a real MLflow store on SQLite."""

from __future__ import annotations

import logging
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flows.catching_up import catch_up
from knowledge_store.lake import reader
from knowledge_store.lake.outcomes import outcomes
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import OrchestrationError
from tasks.mlflow_metrics import Running, episode_metrics
from tasks.mlflow_store import RunStore
from tasks.track import Tracker
from tests.tracking.replaying import KEY, chain_run, opened, replay, told, tracker

if TYPE_CHECKING:
    from mlflow import MlflowClient

CHAIN = chain_run(1).chain


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without the experiment: migrations cost seconds."""
    folder = tmp_path_factory.mktemp("mlflow")
    RunStore(f"sqlite:///{folder}/empty.db", "template", folder).open()
    return folder / "empty.db"


@pytest.fixture
def root(tmp_path: Path, empty_database: Path) -> Path:
    (tmp_path / ".mlflow").mkdir()
    shutil.copyfile(empty_database, tmp_path / ".mlflow" / "mlflow.db")
    return tmp_path


@pytest.fixture
def uri(root: Path) -> str:
    return f"sqlite:///{root}/.mlflow/mlflow.db"


def client_of(uri: str) -> MlflowClient:
    from mlflow import MlflowClient

    return MlflowClient(uri)


def runs(uri: str, kind: str) -> list[str]:
    """Ids of the active runs of a kind: ``sweep`` or ``chain``."""
    client = client_of(uri)
    experiment = client.get_experiment_by_name("ocm")
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id], f"tags.`ocm.kind` = '{kind}'")
    return [run.info.run_id for run in found]


def artifacts(uri: str, run: str, path: str | None = None) -> list[str]:
    return [entry.path for entry in client_of(uri).list_artifacts(run, path)]


def assert_told_once(uri: str, run: str, count: int) -> None:
    """Each metric of each episode stands exactly once, with the value and time of the record."""
    wanted: dict[tuple[str, int], tuple[float, int]] = {}
    running = Running()
    for episode, memory in told(count):
        running = running.after(episode.trajectory)
        for name, value in episode_metrics(episode, memory, running).items():
            wanted[name, episode.index] = (value, round(episode.finished_at * 1000))
    client = client_of(uri)
    names = {name for name, _ in wanted}
    assert set(client.get_run(run).data.metrics) == names
    found = [
        ((name, metric.step), (metric.value, metric.timestamp))
        for name in names
        for metric in client.get_metric_history(run, name)
    ]
    assert max(Counter(place for place, _ in found).values()) == 1
    assert {place: (pytest.approx(value), stamp) for place, (value, stamp) in found} == wanted


async def test_a_sweep_as_mlflow_shows_it(uri: str, root: Path) -> None:
    one = await opened(uri, root)
    chain = chain_run(3)
    assert await one.chain(chain) == 0
    for episode, memory in told(3):
        await one.episode(episode, memory)
    await one.finish_chain(CHAIN, "complete", told(3)[-1][1])
    await one.finish_sweep(
        {"sr/ocm/plancraft/scripted": 0.5, "sr_low/ocm/plancraft/scripted": 0.1}, "|table|"
    )
    await one.close()

    assert one.problems == []
    ((parent,), (child,)) = runs(uri, "sweep"), runs(uri, "chain")
    assert_told_once(uri, child, 3)
    client = client_of(uri)
    shown, whole = client.get_run(child), client.get_run(parent)
    assert shown.info.status == whole.info.status == "FINISHED"
    assert shown.info.start_time == round(told(1)[0][0].started_at * 1000)
    assert shown.info.end_time == round(told(3)[-1][0].finished_at * 1000)
    assert (
        shown.data.tags.items()
        >= {
            "mlflow.parentRunId": parent,
            "chain": CHAIN,
            "method": "ocm",
            "environment": "plancraft",
            "backbone": "scripted",
            "seed": "0",
        }.items()
    )
    assert shown.data.params["method_settings.max_repairs"] == "2"
    assert len(shown.data.params["method_settings.long"]) == 6000
    assert whole.data.params == {"chains": "1", "seeds": "[0]"}
    assert whole.data.metrics["sr/ocm/plancraft/scripted"] == 0.5
    (history,) = client.get_metric_history(parent, "sr_low/ocm/plancraft/scripted")
    assert (history.step, history.timestamp) == (3, whole.info.end_time)
    assert sorted(artifacts(uri, parent)) == ["results.md", "spec.json"]
    assert "memory/after-0003-episodes/objects.py" in artifacts(uri, child, "memory/after-0003-episodes")


async def test_one_batch_per_episode(uri: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    batches = []
    send = MlflowClient.log_batch

    def counting(
        self: MlflowClient, run_id: str, metrics: tuple = (), *rest: object, **more: object
    ) -> object:
        if metrics:
            batches.append({metric.step for metric in metrics})
        return send(self, run_id, metrics, *rest, **more)

    one = await opened(uri, root)
    monkeypatch.setattr(MlflowClient, "log_batch", counting)
    await replay(one, chain_run(4), told(4))
    assert batches == [{0}, {1}, {2}, {3}]
    assert await replay(one, chain_run(4), told(4)) == 0
    assert len(batches) == 4
    await one.close()


async def test_a_resumed_sweep_goes_on_in_its_runs(uri: str, root: Path) -> None:
    first = await opened(uri, root)
    await first.chain(chain_run(5))
    for episode, memory in told(2):
        await first.episode(episode, memory)
    await first.close()
    (child,) = runs(uri, "chain")
    assert client_of(uri).get_run(child).info.status == "KILLED"
    assert client_of(uri).get_run(child).data.tags["ocm.state"] == "stopped"

    second = await opened(uri, root)
    assert await second.chain(chain_run(5)) == 2
    assert client_of(uri).get_run(child).info.status == "RUNNING"
    for episode, memory in told(5):
        await second.episode(episode, memory)
    await second.finish_chain(CHAIN, "complete", {})
    await second.finish_sweep({"sr": 1.0}, "")
    await second.close()
    assert (runs(uri, "chain"), len(runs(uri, "sweep"))) == ([child], 1)
    assert_told_once(uri, child, 5)


@pytest.mark.parametrize("before", [0, 2, 5])
async def test_a_chain_catches_up_without_reading_what_mlflow_knows(
    uri: str, root: Path, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = ChainWriter(root, "demo", CHAIN, KEY)
    for episode, _ in told(5):
        writer.commit(episode)
    first = await opened(uri, root)
    await replay(first, chain_run(9), told(before))
    await first.close()

    read = []
    load = reader.from_table
    monkeypatch.setattr(reader, "from_table", lambda table: read.append(1) or load(table))
    second = await opened(uri, root)
    earlier = outcomes(root, "demo", CHAIN)
    await catch_up(second, root, "demo", chain_run(9), earlier)
    assert len(read) == 5 - before
    for episode, memory in told(7)[5:]:
        await second.episode(episode, memory)
    await second.close()
    assert second.problems == []
    assert_told_once(uri, runs(uri, "chain")[0], 7)


async def test_a_finished_sweep_again_changes_nothing(uri: str, root: Path) -> None:
    def rows() -> list[str]:
        with closing(sqlite3.connect(root / ".mlflow" / "mlflow.db")) as database:
            return sorted(database.iterdump())

    async def whole() -> None:
        one = await opened(uri, root)
        await replay(one, chain_run(3), told(3))
        await one.finish_sweep({"sr": 0.5}, "|table|")
        await one.close()

    await whole()
    before = rows()
    await whole()
    assert rows() == before


async def test_a_lost_registry_is_found_again_only_with_its_token(uri: str, root: Path) -> None:
    """Killed after MLflow made a run and before the registry had it: the run is found by its tags."""
    one = await opened(uri, root)
    await replay(one, chain_run(2), told(2))
    await one.close()
    registry = root / "demo" / "mlflow.json"
    text = registry.read_text()
    for run in (*runs(uri, "sweep"), *runs(uri, "chain")):
        text = text.replace(f'"{run}"', "null")
    registry.write_text(text)
    two = await opened(uri, root)
    assert await replay(two, chain_run(2), told(2)) == 0
    await two.close()
    assert len(runs(uri, "sweep")) == len(runs(uri, "chain")) == 1


@pytest.mark.parametrize(("gone", "new"), [("sweep", 0), ("chain", 3)])
async def test_a_vanished_run_is_made_again_from_the_lake(uri: str, root: Path, gone: str, new: int) -> None:
    """A chain's run is filled from the lake; a parent's children move to the new one."""
    one = await opened(uri, root)
    await replay(one, chain_run(3), told(3))
    await one.close()
    (lost,) = runs(uri, gone)
    client_of(uri).delete_run(lost)
    two = await opened(uri, root)
    assert await replay(two, chain_run(3), told(3)) == new
    await two.close()
    ((parent,), (child,)) = runs(uri, "sweep"), runs(uri, "chain")
    assert lost not in (parent, child)
    assert client_of(uri).get_run(child).data.tags["mlflow.parentRunId"] == parent
    assert_told_once(uri, child, 3)


async def test_another_server_and_back(uri: str, root: Path, empty_database: Path) -> None:
    shutil.copyfile(empty_database, root / "other.db")
    for where, new in ((uri, 2), (f"sqlite:///{root}/other.db", 2), (uri, 0)):
        one = await opened(where, root)
        assert await replay(one, chain_run(2), told(2)) == new
        await one.close()
        assert len(runs(where, "sweep")) == len(runs(where, "chain")) == 1
        assert_told_once(where, runs(where, "chain")[0], 2)


async def test_killed_in_mid_replay(uri: str, root: Path) -> None:
    command = [sys.executable, "-m", "tests.tracking.replaying", uri, str(root), "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        deadline = time.monotonic() + 60
        while _rows(root) < 200 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    one = await opened(uri, root)
    assert 0 < await replay(one, chain_run(60), told(60)) < 60
    await one.close()
    (child,) = runs(uri, "chain")
    assert_told_once(uri, child, 60)


def _rows(root: Path) -> int:
    with closing(sqlite3.connect(root / ".mlflow" / "mlflow.db", timeout=30)) as database:
        return int(database.execute("select count(*) from metrics").fetchone()[0])


async def test_a_failure_is_told_once_and_stops_nothing(
    uri: str, root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    calls = []

    def broken(*_: object, **__: object) -> None:
        calls.append(1)
        raise MlflowException("the disk is full")

    one = await opened(uri, root)
    await one.chain(chain_run(9))
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(MlflowClient, "log_batch", broken)
        for episode, memory in told(9):
            await one.episode(episode, memory)
        await one.finish_chain(CHAIN, "complete", {})
        await one.finish_sweep({"sr": 1.0}, "")
        await one.close()
    assert len(calls) == len(one.problems) == 3
    assert "episode 0" in one.problems[0]
    assert caplog.text.count("ocm mlflow sync demo") == 1

    two = await opened(uri, root)
    assert await replay(two, chain_run(9), told(9)) == 9
    await two.close()
    assert_told_once(uri, runs(uri, "chain")[0], 9)


async def test_a_single_failure_leaves_a_hole_that_the_next_run_fills(
    uri: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    send = MlflowClient.log_batch

    def flaky(self: MlflowClient, run_id: str, metrics: tuple = (), **more: object) -> object:
        if metrics and metrics[0].step == 1:
            raise MlflowException("hiccup")
        return send(self, run_id, metrics, **more)

    one = await opened(uri, root)
    with monkeypatch.context() as patched:
        patched.setattr(MlflowClient, "log_batch", flaky)
        assert await replay(one, chain_run(4), told(4)) == 4
    assert len(one.problems) == 1
    assert await one.chain(chain_run(4)) == 1
    assert await replay(one, chain_run(4), told(4)) == 3
    await one.close()
    assert_told_once(uri, runs(uri, "chain")[0], 4)


async def test_episodes_out_of_order_are_a_problem(uri: str, root: Path) -> None:
    one = await opened(uri, root)
    await one.chain(chain_run(2))
    await one.episode(*told(2)[1])
    await one.close()
    assert "expected episode 0" in one.problems[0]


async def test_one_chain_of_a_driver_elsewhere(uri: str, root: Path) -> None:
    driver = await opened(uri, root)
    worker = Tracker(uri, "ocm", "demo", root / "demo" / "mlflow.json", drives_sweep=False)
    await worker.open({}, {}, {})
    await replay(worker, chain_run(3), told(3))
    await worker.close()
    (parent,) = runs(uri, "sweep")
    assert client_of(uri).get_run(parent).info.status == "RUNNING"
    await driver.finish_sweep({"sr": 0.5}, "")
    await driver.close()
    (history,) = client_of(uri).get_metric_history(parent, "sr")
    assert history.step == 3


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9", "sqlite:////proc/nowhere/m.db", "carrier-pigeon://x"]
)
async def test_mlflow_that_cannot_be_used(address: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    one = tracker(address, root)
    with pytest.raises(OrchestrationError, match=r"tracking\.uri: MLflow at .* cannot be used") as caught:
        await one.open({}, {}, {})
    assert "\n" not in str(caught.value)
    await one.close()


async def test_a_paused_chain_keeps_our_own_word(uri: str, root: Path) -> None:
    """MLflow has no word for it; as many as there are reasons to pause stand in a tag."""
    one = await opened(uri, root)
    await one.chain(chain_run(3))
    await one.finish_chain(CHAIN, "paused: budget", {})
    await one.finish_chain(CHAIN, "paused: backbone", {})
    await one.finish_sweep({}, "", "paused: backbone")
    await one.close()
    runs = client_of(uri).search_runs([client_of(uri).get_experiment_by_name("ocm").experiment_id])
    assert {(run.info.status, run.data.tags["ocm.state"]) for run in runs} == {("KILLED", "paused: backbone")}
    assert len(runs) == 2


async def test_a_database_that_is_none(uri: str, root: Path) -> None:
    (root / ".mlflow" / "mlflow.db").write_bytes(b"garbage " * 600)
    with pytest.raises(OrchestrationError, match=r"tracking\.uri: .*file is not a database.*move") as caught:
        await opened(uri, root)
    assert len(str(caught.value).splitlines()) == 1


async def test_a_deleted_experiment(uri: str, root: Path) -> None:
    client = client_of(uri)
    client.delete_experiment(client.create_experiment("ocm"))
    one = tracker(uri, root)
    with pytest.raises(OrchestrationError, match="mlflow experiments restore"):
        await one.open({}, {}, {})
    await one.close()


async def test_a_damaged_registry(uri: str, root: Path) -> None:
    (root / "demo").mkdir()
    (root / "demo" / "mlflow.json").write_text('{"uri": 1')
    one = tracker(uri, root)
    with pytest.raises(OrchestrationError, match=r"mlflow\.json: damaged .* delete it"):
        await one.open({}, {}, {})
    await one.close()


def test_importing_and_opening_is_quiet_and_late(tmp_path: Path) -> None:
    """MLflow is imported by open() only, and says nothing while it makes its database."""
    script = (
        "import asyncio, sys; from pathlib import Path; from tests.tracking.replaying import opened\n"
        "assert 'mlflow' not in sys.modules\n"
        "async def main(): await (await opened(sys.argv[1], Path(sys.argv[2]))).close()\n"
        "asyncio.run(main())"
    )
    where = [f"sqlite:///{tmp_path}/new/mlflow.db", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", script, *where], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (Path.cwd() / "mlruns").exists()


def test_the_remark_that_sqlalchemy_begins_with_does_not_hide_the_error(tmp_path: Path) -> None:
    store = RunStore(f"sqlite:///{tmp_path / 'm.db'}", "ocm", tmp_path)
    said = "(raised as a result of Query-invoked autoflush; consider)\n(OperationalError) disk is full"
    assert store.first_line(RuntimeError(said)) == "(OperationalError) disk is full"
    assert store.first_line(RuntimeError()) == "RuntimeError"
