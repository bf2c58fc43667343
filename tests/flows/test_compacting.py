"""Compaction in a process beside the driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows import compacting
from flows.compacting import Compactor
from knowledge_store.lake.files import read_compact_record
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key


def chain(root: Path, episodes: int = 2) -> ChainPaths:
    writer = ChainWriter(root, "demo", chain_id(fake_key()), fake_key())
    for episode in fake_chain(fake_key(), episodes):
        writer.commit(episode)
    return writer.paths


async def test_chains_get_their_tables_in_one_process(tmp_path: Path) -> None:
    first, second = chain(tmp_path / "a"), chain(tmp_path / "b")
    compactor = Compactor()
    await compactor.compact(first)
    process = compactor._process
    await compactor.compact(second)
    assert compactor._process is process and process is not None
    for paths in (first, second):
        record = read_compact_record(paths)
        assert record is not None and record.episodes == 2
    await compactor.close()
    assert process.returncode == 0


async def test_what_is_wrong_is_told_as_by_the_function_itself_and_the_next_chain_is_served(
    tmp_path: Path,
) -> None:
    broken, whole = chain(tmp_path / "a"), chain(tmp_path / "b")
    next(broken.episodes.glob("00001-*")).unlink()
    compactor = Compactor()
    with pytest.raises(StorageError, match=r"compaction failed.*restore it from a copy"):
        await compactor.compact(broken)
    assert read_compact_record(broken) is None
    await compactor.compact(whole)
    assert read_compact_record(whole) is not None
    await compactor.close()


async def test_a_killed_process_is_told_and_another_one_serves_the_next_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = chain(tmp_path)
    compactor = Compactor()
    monkeypatch.setattr(compacting, "COMMAND", [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    with pytest.raises(StorageError, match=r"has ended with exit code -9; give the same command again"):
        await compactor.compact(paths)
    monkeypatch.undo()
    await compactor.compact(paths)
    assert read_compact_record(paths) is not None
    await compactor.close()


def test_it_ends_with_its_driver() -> None:
    """Its standard input ends however the driver does."""
    assert (
        subprocess.run(compacting.COMMAND, stdin=subprocess.DEVNULL, check=True, timeout=60).returncode == 0
    )
