"""Environment hosts that die or do not fit, in whole runs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.command import EPISODES, SMALL, Ended, digest, ocm, start, write_spec

pytestmark = pytest.mark.timeout(900)  # several whole runs each, on whatever machine

ONE_HOST = "\n[run]\nenvironment_hosts = 1\n"
NO_ROOM = "\n[run]\nenvironment_memory_mb = 100\n"


def host_of(driver: int) -> int:
    """The process of its only host."""
    while True:
        for child in psutil.Process(driver).children(recursive=True):
            if child.name().startswith("ray::EnvHost"):
                return child.pid
        time.sleep(0.05)


def played(process: subprocess.Popen[str], episodes: int) -> list[str]:
    """What it tells until so many more episodes are played."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        episodes -= '"event": "episode"' in line
        if not episodes:
            break
    return lines


def test_a_host_that_is_killed_changes_nothing_but_the_number_of_attempts(
    small_sweep: tuple[Path, Ended], tmp_path: Path
) -> None:
    """Four chains share one host, which is killed twice."""
    undisturbed, _ = small_sweep
    spec = write_spec(tmp_path, SMALL.format(limit=EPISODES) + ONE_HOST)
    root = tmp_path / "runs"
    process = start("run", spec, "--root", root, "--output", "json")
    told = []
    for _ in range(2):
        told += played(process, 3)
        os.kill(host_of(process.pid), signal.SIGKILL)
    out, err = process.communicate(timeout=240)
    ended = Ended(process.returncode, "".join(told) + out, err)
    assert ended.code == 0, err
    assert ended.events[-1]["complete"]
    assert digest(root) == digest(undisturbed)
    attempts = ocm("sql", "SELECT max(attempt) FROM episodes", "--root", root, "--format", "csv")
    assert int(attempts.out.splitlines()[1]) > 1


def test_a_sweep_whose_environment_does_not_fit_plays_nothing(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, SMALL.format(limit=1) + NO_ROOM)
    ended = ocm("run", spec, "--root", tmp_path / "runs", "--output", "json")
    assert ended.code == 1
    assert "no host of plancraft fits: one needs 150 MB, and hosts may take 100 MB here" in ended.err
    assert "run.environment_memory_mb" in ended.err and "Traceback" not in ended.err
    assert not any(event["event"] == "episode" for event in ended.events)
