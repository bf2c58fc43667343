"""Asked to end, a sweep ends soon, says how to go on, leaves no process behind, and goes on from there."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from knowledge_store.lake.reader import export_trajectories, list_chains
from tests.e2e.command import SMALL, Ended, start, write_spec
from tests.e2e.processes import MARK, prefect_server, wait_until_nothing_is_left

pytestmark = pytest.mark.timeout(900)  # several whole runs each, on whatever machine

SLOW = 'backbones = [{ kind = "scripted", latency = 0.05 }]'
DETAIL = '\n[run]\nprefect_detail = "stage"\n'
LONG = SMALL.format(limit=110).replace('backbones = ["scripted"]', SLOW)
"""It does not end by itself while a test lasts."""


class Running:
    """A sweep under way, told as lines of JSON."""

    def __init__(self, spec: Path, root: Path) -> None:
        self.root = root
        self.process = start("run", spec, "--root", root, "--output", "json", **{MARK: str(root)})
        self.lines: list[str] = []
        self.notes: list[str] = []
        # a full pipe would hold up the driver
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.notes.extend(self.process.stderr)

    def until(self, text: str, times: int = 1) -> None:
        """Read what it tells until a text has stood there so many times."""
        assert self.process.stdout is not None
        while times:
            line = self.process.stdout.readline()
            assert line, f"it ended before it told {text!r}: {''.join(self.notes)}"
            self.lines.append(line)
            times -= text in line

    def press(self, number: signal.Signals) -> None:
        """As a terminal does: to the driver and whatever is in its group."""
        os.killpg(self.process.pid, number)

    def end(self, seconds: float = 120.0) -> Ended:
        """Wait for its end, and see that nothing is left of it."""
        assert self.process.stdout is not None
        killer = threading.Timer(seconds, self.process.kill)
        killer.start()
        self.lines += self.process.stdout.readlines()
        self._listening.join()
        self.process.wait()
        killer.cancel()
        wait_until_nothing_is_left(self.root)
        return Ended(self.process.returncode, "".join(self.lines), "".join(self.notes))


def prefect(root: Path, kind: str = "flow_run") -> list[tuple[str, str, str]]:
    """Type, name and message of the last states of all flow runs or task runs, as its pages show them."""
    states = f"SELECT s.type, s.name, s.message FROM {kind} r JOIN {kind}_state s ON s.id = r.state_id"
    with closing(sqlite3.connect(root / "small" / "prefect" / "prefect.db")) as database:
        return list(database.execute(f"{states} ORDER BY r.created"))


def mlflow_states(root: Path) -> set[tuple[str, str]]:
    """Of all runs: MLflow's word and ours."""
    asked = "SELECT status, value FROM runs JOIN tags USING (run_uuid) WHERE key = 'ocm.state'"
    with closing(sqlite3.connect(root / ".mlflow" / "mlflow.db")) as database:
        return set(database.execute(asked))


def cancel_in_prefect(server: psutil.Process) -> None:
    """As the page's Cancel button does."""
    script = """
import asyncio, sys
from prefect import get_client
from prefect.states import Cancelling
async def main():
    async with get_client() as client:
        (run,) = [run for run in await client.read_flow_runs() if run.state.is_running()]
        print((await client.set_flow_run_state(run.id, Cancelling())).status.value)
asyncio.run(main())
"""
    url = server.environ()["PREFECT_UI_API_URL"]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PREFECT_API_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "ACCEPT\n", done.stderr


def same_so_far(root: Path, undisturbed: Path) -> int:
    """Compares what all chains saw and did, episode by episode; how many episodes both have."""
    both = 0
    for info in list_chains(undisturbed, "small"):
        seen, expected = (list(export_trajectories(one, "small", info.chain)) for one in (root, undisturbed))
        common = min(len(seen), len(expected))
        assert seen[:common] == expected[:common], info.chain
        both += common
    return both


def states(root: Path) -> tuple[str, str]:
    """Type and message of the last flow run."""
    kind, _, message = prefect(root)[-1]
    return kind, message


def test_every_way_to_end_and_to_go_on(small_sweep: tuple[Path, Ended], tmp_path: Path) -> None:
    """One sweep, ended by a dead Prefect server's side and Ctrl-C, in Prefect, by a killed driver, by Ctrl-C
    while it starts and by two; what it saw and learned is that of an undisturbed one, byte for byte."""
    root = tmp_path / "runs"
    spec = write_spec(tmp_path, LONG + DETAIL)
    again = f"ocm run {spec} --root {root} --output json"

    once = Running(spec, root)  # its Prefect server dies, too
    once.until('"episode"')
    prefect_server(root).kill()
    once.until('"episode"', 4)
    once.press(signal.SIGINT)
    ended = once.end()
    assert ended.code == 3, ended.err
    assert "the Prefect server ended with code -9; start 1 of 5 follows" in ended.err
    assert f"To go on: {again}" in ended.err
    assert "Traceback" not in ended.err
    last = ended.events[-1]
    assert (last["status"], {chain["status"] for chain in last["chains"]}) == ("stopped", {"stopped"})
    assert again in last["next"][0]
    assert states(root)[0] == "CANCELLED" and again in states(root)[1]
    assert {kind for kind, _, _ in prefect(root, "task_run")} <= {"CANCELLED", "COMPLETED"}
    assert mlflow_states(root) == {("KILLED", "stopped")}

    cancelled = Running(spec, root)
    cancelled.until('"episode"')
    cancel_in_prefect(prefect_server(root))
    ended = cancelled.end()
    assert ended.code == 3, ended.err
    assert "was asked to end in Prefect (Cancelling): stopping" in ended.err
    assert states(root)[0] == "CANCELLED" and again in states(root)[1]

    killed = Running(spec, root)
    killed.until('"episode"')
    killed.process.kill()
    assert killed.end().code == -signal.SIGKILL
    assert states(root)[0] == "RUNNING"

    starting = Running(spec, root)
    starting.until("starting Ray")
    time.sleep(1.0)
    starting.press(signal.SIGINT)
    ended = starting.end()
    assert (ended.code, ended.err) == (130, "interrupted\n")

    twice = Running(spec, root)
    twice.until('"episode"')
    twice.press(signal.SIGTERM)
    time.sleep(0.4)
    twice.press(signal.SIGINT)
    ended = twice.end()
    assert ended.code in (3, 130), ended.err  # all chains may have stopped by then
    assert "Traceback" not in ended.err
    assert [kind for kind, _, _ in prefect(root)[-3:]] == ["CANCELLED", "CRASHED", "CANCELLED"]

    undisturbed, _ = small_sweep
    assert same_so_far(root, undisturbed) >= 4
