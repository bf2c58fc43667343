"""A lake that somebody has damaged: every reader says which file, and how to mend it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knowledge_store.lake import views
from knowledge_store.lake.catalog import read_key
from knowledge_store.lake.manifest import PlannedChain, read_manifest, write_manifest
from knowledge_store.lake.paths import ChainPaths, manifest_file
from knowledge_store.lake.reader import chain_digest
from knowledge_store.lake.results import results_table
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError, StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)


@pytest.fixture
def paths(tmp_path: Path) -> ChainPaths:
    writer = ChainWriter(tmp_path, "demo", CHAIN, KEY)
    for episode in fake_chain(KEY, 2, steps=3):
        writer.commit(episode)
    write_manifest(tmp_path, "demo", {"name": "demo"}, [PlannedChain(CHAIN, KEY, 2)], {})
    return writer.paths


RECORDS: dict[str, tuple[Callable[[ChainPaths], Path], Callable[[ChainPaths], object]]] = {
    "commit": (lambda at: at.commit(1), lambda at: chain_digest(at.root, at.sweep, at.chain)),
    "chain": (lambda at: at.identity, read_key),
    "sweep": (lambda at: manifest_file(at.root, at.sweep), lambda at: read_manifest(at.root, at.sweep)),
}


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(
    "text", ["", "garbage", "[]", "{}", '{"schema": 1, "key": 3, "chains": 3}', '{"key": {}, "chains": [1]}']
)
def test_a_damaged_record_is_named(paths: ChainPaths, record: str, text: str) -> None:
    place, read = RECORDS[record]
    place(paths).write_text(text)
    with pytest.raises(StorageError, match=f"{place(paths)}: damaged"):
        read(paths)


@pytest.mark.parametrize(("field", "value"), [("spec", [1]), ("created_at", "x"), ("chains", [{"chain": 1}])])
def test_an_edited_manifest_is_refused(paths: ChainPaths, field: str, value: Any) -> None:
    place = manifest_file(paths.root, "demo")
    place.write_text(json.dumps({**json.loads(place.read_text()), field: value}))
    with pytest.raises(StorageError, match=f"damaged .{field}"):
        read_manifest(paths.root, "demo")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize("harm", [_cut, Path.unlink])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_table_that_cannot_be_read_is_named(
    paths: ChainPaths, harm: Callable[[Path], None], compacted: bool
) -> None:
    if compacted:
        ChainWriter(paths.root, "demo", CHAIN, KEY).compact()
    (file,) = (paths.compact if compacted else paths.episodes).glob("episodes-*" if compacted else "00001-*")
    harm(file)
    for read in (
        lambda: results_table(paths.root, "demo"),
        lambda: views.query(paths.root, "SELECT max(reward) FROM episodes"),
    ):
        with pytest.raises(StorageError, match=file.name) as raised:
            read()
        assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("statement", ["SELEC 1", "SELECT nothing FROM episodes", "SELECT 'x'::INT"])
def test_a_wrong_statement_is_not_the_lakes_fault(paths: ChainPaths, statement: str) -> None:
    with pytest.raises(SpecError):
        views.query(paths.root, statement)


def test_reading_an_episode_starts_no_thread_that_could_abort_the_exit(paths: ChainPaths) -> None:
    """Arrow's own reader threads ended one process in fifty with "terminate called"."""
    code = """if True:
        import os, sys
        from pathlib import Path
        from knowledge_store.lake.reader import load_episode
        def threads():
            return {name for name in os.listdir("/proc/self/task")
                    if not Path("/proc/self/task", name, "comm").read_text().startswith("jemalloc")}
        before = threads()
        load_episode(Path(sys.argv[1]), "demo", sys.argv[2], 1)
        print(len(threads() - before))
    """
    command = [sys.executable, "-c", code, str(paths.root), CHAIN]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert run.stdout.strip() == "0"


def test_a_damaged_manifest_is_written_anew_as_its_message_says(paths: ChainPaths) -> None:
    manifest_file(paths.root, "demo").write_text("{")
    write_manifest(paths.root, "demo", {"name": "demo"}, [PlannedChain(CHAIN, KEY, 2)], {})
    assert read_manifest(paths.root, "demo").chains == (PlannedChain(CHAIN, KEY, 2),)
