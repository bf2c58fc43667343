"""A commit late in a chain does what an early one does: as many file operations, as many bytes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.commits import Chain

EVENTS = frozenset({"open", "os.listdir", "os.scandir", "os.link", "os.rename", "os.remove", "os.mkdir"})
_counted: Counter[str] | None = None


def _count(event: str, _: object) -> None:
    if _counted is not None and event in EVENTS:
        _counted[event] += 1


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """File operations of this process. An audit hook stays for ever; this one then counts nothing."""
    global _counted
    if not _installed:
        sys.addaudithook(_count)
        _installed.append(True)
    _counted = Counter()
    try:
        yield _counted
    finally:
        _counted = None


_installed: list[bool] = []


def test_file_operations_do_not_grow_with_the_chain(tmp_path: Path) -> None:
    chain = Chain(tmp_path, 0)
    chain.commit({})
    with counting() as early:
        chain.commit({})
    while chain.length < 30:
        chain.commit({})
    with counting() as late:
        chain.commit({})
    assert early == late
    assert early["os.link"] == 1 and not early["os.listdir"] + early["os.scandir"]
    sizes = [path.stat().st_size for path in sorted((chain.writer.paths.episodes).iterdir())[1:]]
    assert max(sizes[-9:]) <= 1.1 * min(sizes[:9])


def test_the_count_sees_listings(tmp_path: Path) -> None:
    with counting() as counted:
        list(tmp_path.iterdir())
        (tmp_path / "file").write_bytes(b"")
    assert counted["os.listdir"] + counted["os.scandir"] == 1 and counted["open"] == 1


@pytest.mark.parametrize("part", ["rows", "parquet", "flushes", "record", "checks"])
def test_the_benchmark_times_each_part(part: str, tmp_path: Path) -> None:
    spent: dict[str, float] = {}
    Chain(tmp_path, 0).commit(spent)
    assert 0 < spent[part] < spent["whole"]
