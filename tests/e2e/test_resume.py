"""Killed at any moment and started again, a sweep ends with the same episodes: none twice, none missing."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from ocm.identity import generator
from tests.e2e.command import EPISODES, SMALL, Ended, digest, ocm, start, write_spec
from tests.e2e.processes import wait_until_nothing_is_left

pytestmark = pytest.mark.timeout(900)  # several whole runs each, on whatever machine

KILLS = 2


def kill_after(process: subprocess.Popen[str], episodes: int, delay: float) -> None:
    """SIGKILL the driver some time after it has told of so many episodes."""
    assert process.stdout is not None
    told = 0
    for line in process.stdout:
        told += '"event": "episode"' in line
        if told >= episodes:
            break
    time.sleep(delay)
    process.kill()
    process.communicate()


def test_killed_and_resumed(small_sweep: tuple[Path, Ended], tmp_path: Path) -> None:
    """Two kills, and a limit raised in between, give what the undisturbed sweep gave, byte for byte."""
    undisturbed, _ = small_sweep
    spec = write_spec(tmp_path, SMALL.format(limit=EPISODES - 2))
    root = tmp_path / "killed"
    draws = generator("kills of the driver")
    for _ in range(KILLS):
        process = start("run", spec, "--root", root, "--output", "json", OCM_TEST_ROOT=str(root))
        kill_after(process, draws.randrange(1, 4), draws.random())
        wait_until_nothing_is_left(root)
    spec = write_spec(tmp_path, SMALL.format(limit=EPISODES))
    last = ocm("run", spec, "--root", root, "--output", "json")
    assert last.code == 0, last.err
    assert digest(root) == digest(undisturbed)
    counted = ocm(
        "sql",
        "SELECT count(*), count(DISTINCT (chain, episode)) FROM episodes",
        "--root",
        root,
        "--format",
        "csv",
    )
    assert counted.out.splitlines()[1] == f"{4 * EPISODES},{4 * EPISODES}"


def test_one_run_at_a_time_and_ctrl_c_ends_it_in_mid_episode(tmp_path: Path) -> None:
    slow = 'backbones = [{ kind = "scripted", latency = 0.05 }]'
    text = SMALL.format(limit=110).replace('backbones = ["scripted"]', slow)
    assert slow in text, "it is not to end by itself before the second has spoken"
    spec = write_spec(tmp_path, text)
    root = tmp_path / "runs"
    process = start("run", spec, "--root", root, "--output", "json", OCM_TEST_ROOT=str(root))
    assert process.stdout is not None
    for line in process.stdout:
        if '"event": "episode"' in line:
            break
    second = ocm("run", spec, "--root", root, "--output", "quiet")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert second.code == 1
    assert f"process {process.pid} of " in second.err and "has been playing this sweep" in second.err
    ended = Ended(process.returncode, out, err)
    assert ended.code == 3, err
    assert "stopping. Each chain ends before its next model call" in err
    assert f"ocm run {spec} --root {root}" in err, "how to go on"
    end = ended.events[-1]
    assert not end["complete"]
    assert {chain["status"] for chain in end["chains"]} == {"stopped"}
    wait_until_nothing_is_left(root)
