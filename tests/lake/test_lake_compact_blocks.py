"""A chain that is compacted in blocks gives the same tables as one that is compacted at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from knowledge_store.lake import compact
from knowledge_store.lake.files import read_compact_record
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.schema import TABLES
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

CHAIN = chain_id(fake_key())


@pytest.mark.parametrize("at_once", [1, 2, 3, 5])
def test_blocks_are_as_sorted_as_the_whole(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for name, block in (("whole", 99), ("blocks", at_once)):
        root = tmp_path / name
        writer = ChainWriter(root, "demo", CHAIN, fake_key())
        for episode in fake_chain(fake_key(), 5):
            writer.commit(episode)
        monkeypatch.setattr(compact, "AT_ONCE", block)
        writer.compact()
        paths = ChainPaths(root, "demo", CHAIN)
        record = read_compact_record(paths)
        assert record is not None and record.episodes == 5
        tables.append(
            {name: pq.read_table(paths.compacted(record.tables[name])).to_pylist() for name in TABLES}
        )
    whole, blocks = tables
    assert whole == blocks
    assert len(whole["steps"]) == 40
