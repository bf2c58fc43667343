"""Kills, full disks and races: nothing is lost, nothing is there twice, nothing half-written stays."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_store.lake import reader
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import StorageError
from ocm.identity import chain_id
from ocm.types import Episode
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)
EPISODES = list(fake_chain(KEY, 8, steps=3))
REPOSITORY = Path(__file__).parents[2]


def run_script(part: str, folder: Path) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.lake.crash_script", part, str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return result


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def test_a_kill_at_every_system_call_loses_nothing(tmp_path: Path) -> None:
    assert run_script("boundaries", tmp_path)["kills"] >= 20


def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    assert run_script("sigkill", tmp_path)["kills"] >= 5


@pytest.mark.parametrize(
    ("call", "at"), [("fsync", 1), ("replace", 1), ("fsync", 2), ("fsync", 3), ("link", 1), ("fsync", 4)]
)
def test_a_full_disk_leaves_nothing_and_the_same_writer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, at: int
) -> None:
    writer = ChainWriter(tmp_path, "demo", CHAIN, KEY)
    writer.commit(EPISODES[0])
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        reached = _fail(patch, call, at)
        try:
            writer.commit(EPISODES[1])
        except StorageError as error:
            assert "free disk space" in error.message and str(tmp_path) in error.message
        assert reached()
    committed = writer.paths.commit(1).exists()
    assert committed or files(tmp_path) == before
    state = writer.resume()
    assert state.next_index == 1 + committed
    for episode in EPISODES[state.next_index : 3]:
        writer.commit(episode)
    assert reader.verify_chain(tmp_path, "demo", CHAIN) == 3


def _fail(patch: pytest.MonkeyPatch, name: str, at: int) -> Callable[[], bool]:
    """Let the ``at``-th call of an ``os`` function fail as on a full disk; whether that was reached."""
    real, count = getattr(os, name), 0

    def call(*args: object, **options: object) -> object:
        nonlocal count
        count += 1
        if count == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **options)

    patch.setattr(os, name, call)
    return lambda: count >= at


def test_a_real_file_size_limit_is_a_clear_error(tmp_path: Path) -> None:
    writer = ChainWriter(tmp_path, "demo", CHAIN, KEY)
    writer.commit(EPISODES[0])
    before = files(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError, match="file size limit"):
            writer.commit(EPISODES[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files(tmp_path) == before
    assert writer.commit(EPISODES[1]).episode == 1


def test_a_root_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("")
    with pytest.raises(StorageError, match="root"):
        ChainWriter(tmp_path / "root", "demo", CHAIN, KEY)


def race(racer: ChainWriter, episode: Episode, start: threading.Barrier, outcomes: list[str]) -> None:
    start.wait()
    try:
        racer.commit(episode)
        outcomes.append("won")
    except StorageError as error:
        outcomes.append("lost" if "another run" in error.message else error.message)


def test_of_two_writers_that_race_exactly_one_wins(tmp_path: Path) -> None:
    for index, episode in enumerate(EPISODES):
        racers = [ChainWriter(tmp_path, "demo", CHAIN, KEY) for _ in range(2)]
        for racer in racers:
            racer.resume()
        outcomes: list[str] = []
        start = threading.Barrier(2)
        threads = [threading.Thread(target=race, args=(racer, episode, start, outcomes)) for racer in racers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["lost", "won"]
        assert reader.verify_chain(tmp_path, "demo", CHAIN) == index + 1
    assert len(list((tmp_path / "demo" / "chains" / CHAIN / "episodes").iterdir())) == len(EPISODES)
