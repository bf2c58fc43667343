"""A disk that fills up during compaction is told as such: nothing committed is damaged."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from knowledge_store.lake import compact, disk
from ocm.errors import StorageError

FULL = Path("/dev/full")
ROWS = "SELECT range FROM range(1000)"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_the_mend_of_a_full_disk_is_space() -> None:
    place = Path("runs/chain/compact")
    with duckdb.connect() as connection, pytest.raises(StorageError) as raised, disk.storage_errors(place):
        compact._write(connection, ROWS, FULL)
    expected = f"{place}: No space left on device; free disk space and give the same command again"
    assert str(raised.value) == expected
