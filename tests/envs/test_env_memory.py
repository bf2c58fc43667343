"""Memory in containers, on made-up ``/proc`` and ``/sys``; and of real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from envs.memory import available_mb, process_mb

MB = 2**20
HOLDS_64_MB = "import sys; kept = bytearray(64 * 2**20); print('ready', flush=True); sys.stdin.read()"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def group(folder: str, limit: str, used: int, cached: int = 0, v1: bool = False) -> dict[str, str]:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    limit_file, used_file, key = names if v1 else ("memory.max", "memory.current", "inactive_file")
    return {
        f"{folder}/{limit_file}": limit,
        f"{folder}/{used_file}": str(used),
        f"{folder}/memory.stat": f"anon 1\n{key} {cached}",
    }


def test_a_containers_limit_counts_and_cached_files_are_room(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"proc/self/cgroup": "0::/"} | group("sys/fs/cgroup", str(300 * MB), 250 * MB, cached=30 * MB),
    )
    assert available_mb(root) == 80


def test_the_tightest_group_around_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"proc/self/cgroup": "0::/user/job"}
        | group("sys/fs/cgroup/user", str(100 * MB), 40 * MB)
        | group("sys/fs/cgroup/user/job", "max", 10 * MB),
    )
    assert available_mb(root) == 60


def test_version_1(tmp_path: Path) -> None:
    listing = "5:cpu,cpuacct:/\n4:memory:/docker/1"
    inside = group("sys/fs/cgroup/memory", str(50 * MB), 10 * MB, cached=5 * MB, v1=True)
    assert available_mb(write(tmp_path, {"proc/self/cgroup": listing} | inside)) == 45


def test_a_group_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    over = group("sys/fs/cgroup", str(MB), 2 * MB)
    assert available_mb(write(tmp_path, {"proc/self/cgroup": "0::/"} | over)) == 0


@pytest.mark.parametrize("files", [{}, {"proc/self/cgroup": "0::/"}], ids=["no groups", "no limit"])
def test_without_limits_the_machines_memory_counts(tmp_path: Path, files: dict[str, str]) -> None:
    machine = psutil.virtual_memory().available / MB
    assert abs(available_mb(write(tmp_path, files)) - machine) < 500


def test_what_a_process_started_counts() -> None:
    before = process_mb()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_64_MB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        assert 64 <= process_mb() - before < 100
        child.communicate("")
    assert process_mb() < before + 30
