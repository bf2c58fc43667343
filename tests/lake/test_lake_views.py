"""SQL over the lake does not know whether a chain is compacted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest

from knowledge_store.lake import views
from knowledge_store.lake.schema import TABLES, flat_schema, text_columns
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError, StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEYS = [fake_key(method, seed) for method in ("ocm", "react") for seed in (0, 1)]
VIEWS = [*TABLES, *(f"{name}_text" for name in TABLES if text_columns(name)), "messages"]


def writers(root: Path, episodes: int = 6) -> list[ChainWriter]:
    made = []
    for key in KEYS:
        writer = ChainWriter(root, "demo", chain_id(key), key)
        for episode in fake_chain(key, episodes, steps=3):
            writer.commit(episode)
        made.append(writer)
    return made


def contents(root: Path) -> dict[str, list[object]]:
    with views.connect(root) as connection:
        return {
            name: connection.sql(f"SELECT * FROM {name} ORDER BY ALL").to_arrow_table().to_pylist()
            for name in VIEWS
        }


def test_an_empty_lake_has_all_views_without_rows(tmp_path: Path) -> None:
    with views.connect(tmp_path / "none") as connection:
        for name in [*VIEWS, "chains", "sweeps"]:
            assert connection.sql(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]


def test_compaction_changes_no_row(tmp_path: Path) -> None:
    made = writers(tmp_path)
    fresh = contents(tmp_path)
    assert all(fresh.values())
    for writer in made[1:3]:
        writer.compact()
        assert contents(tmp_path) == fresh


def test_episodes_after_compaction_are_seen_once(tmp_path: Path) -> None:
    (writer, *_) = writers(tmp_path, 4)
    writer.compact()
    for episode in list(fake_chain(KEYS[0], 6, steps=3))[4:]:
        writer.commit(episode)
    statement = f"SELECT episode FROM episodes WHERE chain = '{chain_id(KEYS[0])}' ORDER BY 1"
    assert views.query(tmp_path, statement).column("episode").to_pylist() == list(range(6))
    fresh = contents(tmp_path)
    writer.compact()
    assert contents(tmp_path) == fresh
    with views.connect(tmp_path) as connection:
        counts = connection.sql("SELECT done, compacted FROM chains ORDER BY compacted DESC").fetchall()
    assert counts == [(6, 6), (4, 0), (4, 0), (4, 0)]


def test_columns_are_the_schemas_in_both_shapes(tmp_path: Path) -> None:
    made = writers(tmp_path, 1)
    for _ in range(2):
        for name in TABLES:
            found = views.query(tmp_path, f"SELECT * FROM {name}").schema
            assert found.names == flat_schema(name).names
            scalar = [field for field in flat_schema(name) if not pa.types.is_nested(field.type)]
            assert [found.field(field.name).type for field in scalar] == [field.type for field in scalar]
        for writer in made:
            writer.compact()


def test_compaction_is_idempotent_and_survives_a_kill_before_its_record(tmp_path: Path) -> None:
    (writer, *_) = writers(tmp_path, 3)
    fresh = contents(tmp_path)
    writer.compact()
    record = writer.paths.compact_record.read_bytes()
    writer.compact()
    assert writer.paths.compact_record.read_bytes() == record
    writer.paths.compact_record.unlink()
    assert contents(tmp_path) == fresh
    writer.compact()
    assert writer.paths.compact_record.read_bytes() == record
    assert contents(tmp_path) == fresh


def test_compaction_names_a_damaged_episode(tmp_path: Path) -> None:
    (writer, *_) = writers(tmp_path, 2)
    path = next(writer.paths.episodes.iterdir())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StorageError, match=path.name):
        writer.compact()
    assert not list(writer.paths.compact.iterdir())


def test_one_sweep_only(tmp_path: Path) -> None:
    writers(tmp_path, 1)
    other = ChainWriter(tmp_path, "other", chain_id(KEYS[0]), KEYS[0])
    for episode in fake_chain(KEYS[0], 2, sweep="other", steps=1):
        other.commit(episode)
    count = "SELECT count(*) AS n FROM episodes"
    assert [
        views.query(tmp_path, count, sweep).column("n").to_pylist() for sweep in (None, "demo", "other")
    ] == [[6], [4], [2]]


def test_strange_text_comes_through(tmp_path: Path) -> None:
    key = fake_key()
    (episode,) = fake_chain(key, 1, steps=1)
    step = dataclasses.replace(episode.trajectory.steps[0], action="a\0b \ud800 'quoted' ü", observation="\0")
    trajectory = dataclasses.replace(episode.trajectory, steps=(step,))
    writer = ChainWriter(tmp_path, "demo", chain_id(key), key)
    writer.commit(dataclasses.replace(episode, trajectory=trajectory))
    for _ in range(2):
        row = views.query(tmp_path, "SELECT action, observation FROM steps_text").to_pylist()
        assert row == [{"action": "a\0b \\ud800 'quoted' ü", "observation": "\0"}]
        writer.compact()


def test_a_wrong_statement_is_the_users(tmp_path: Path) -> None:
    for statement in ("SELEC 1", "SELECT nothing FROM episodes", "SELECT * FROM nowhere"):
        with pytest.raises(SpecError, match="SQL"):
            views.query(tmp_path, statement)


def test_a_torn_file_is_a_storage_error(tmp_path: Path) -> None:
    (writer, *_) = writers(tmp_path, 2)
    path = sorted(writer.paths.episodes.iterdir())[1]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StorageError, match=path.name):
        views.query(tmp_path, "SELECT count(action) FROM steps")


def test_no_progress_bar_on_standard_output(tmp_path: Path) -> None:
    """DuckDB drew one into the output of any query that took more than two seconds."""
    (setting,) = views.query(
        tmp_path, "SELECT value FROM duckdb_settings() WHERE name = 'enable_progress_bar'"
    )["value"].to_pylist()
    assert setting == "false"
