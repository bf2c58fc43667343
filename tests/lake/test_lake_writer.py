"""One chain, written, read back, resumed and damaged."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from knowledge_store.lake import reader, views
from knowledge_store.lake.digest import trajectory_sha256
from knowledge_store.lake.schema import SCHEMA_VERSION
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import StorageError
from ocm.identity import memory_hash
from ocm.types import Episode
from tests.lake.fake import apply, fake_chain, fake_key

KEY = fake_key()
EPISODES = tuple(fake_chain(KEY, 12, steps=4))
CHAIN = EPISODES[0].chain


def writer(root: Path) -> ChainWriter:
    return ChainWriter(root, "demo", CHAIN, KEY)


def written(root: Path, count: int = 6) -> ChainWriter:
    one = writer(root)
    for episode in EPISODES[:count]:
        one.commit(episode)
    return one


def test_a_new_chain_starts_with_nothing(tmp_path: Path) -> None:
    state = writer(tmp_path).resume()
    assert (state.next_index, state.memory, state.last_commit_sha, state.episodes) == (0, {}, "", ())


def test_resume_gives_next_index_and_memory(tmp_path: Path) -> None:
    written(tmp_path)
    state = writer(tmp_path).resume()
    memory: dict[str, str] = {}
    for episode in EPISODES[:6]:
        memory = apply(memory, episode.update.delta)
    assert state.next_index == 6
    assert state.memory == memory
    assert [one.task for one in state.episodes] == [one.trajectory.task.id for one in EPISODES[:6]]


def test_a_resumed_writer_goes_on(tmp_path: Path) -> None:
    written(tmp_path, 3)
    one = writer(tmp_path)
    one.resume()
    one.commit(EPISODES[3])
    assert writer(tmp_path).resume().next_index == 4


def test_episodes_come_back_equal(tmp_path: Path) -> None:
    written(tmp_path)
    assert [reader.load_episode(tmp_path, "demo", CHAIN, i) for i in range(6)] == list(EPISODES[:6])


def test_memory_at_every_episode(tmp_path: Path) -> None:
    written(tmp_path)
    memory: dict[str, str] = {}
    assert reader.memory_at(tmp_path, "demo", CHAIN, -1) == {}
    for episode in EPISODES[:6]:
        memory = apply(memory, episode.update.delta)
        assert reader.memory_at(tmp_path, "demo", CHAIN, episode.index) == memory
    assert memory_hash(memory) == reader.history(tmp_path, "demo", CHAIN)[-1].memory_sha256


@pytest.mark.parametrize("episode", [EPISODES[2], EPISODES[4]], ids=["again", "gap"])
def test_only_the_next_index_is_accepted(tmp_path: Path, episode: Episode) -> None:
    one = written(tmp_path, 3)
    with pytest.raises(StorageError, match="episode 3"):
        one.commit(episode)
    assert writer(tmp_path).resume().next_index == 3


def test_a_memory_that_does_not_follow_is_refused(tmp_path: Path) -> None:
    one = written(tmp_path, 3)
    with pytest.raises(StorageError, match="memory_before"):
        one.commit(dataclasses.replace(EPISODES[3], memory_before=memory_hash({"other": ""})))
    with pytest.raises(StorageError, match="memory_after"):
        one.commit(dataclasses.replace(EPISODES[3], memory_after=memory_hash({"other": ""})))
    one.commit(EPISODES[3])


def test_another_key_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 1)
    with pytest.raises(StorageError, match="another key"):
        ChainWriter(tmp_path, "demo", CHAIN, fake_key(seed=5))


@pytest.mark.parametrize("damage", ["truncated", "missing", "changed"])
def test_a_damaged_episode_file_is_named(tmp_path: Path, damage: str) -> None:
    one = written(tmp_path, 3)
    path = sorted(one.paths.episodes.iterdir())[1]
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-10] if damage == "truncated" else data[:-10] + b"0123456789")
    with pytest.raises(StorageError, match=path.name):
        writer(tmp_path).resume()


@pytest.mark.parametrize("damage", ["edited", "missing", "garbage"])
def test_a_damaged_commit_record_is_named(tmp_path: Path, damage: str) -> None:
    one = written(tmp_path, 4)
    path = one.paths.commit(1)
    if damage == "missing":
        path.unlink()
    elif damage == "garbage":
        path.write_text("{")
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), "reward": 0.5}))
    with pytest.raises(StorageError, match=r"0000[12]\.json"):
        writer(tmp_path).resume()


def test_orphans_are_ignored(tmp_path: Path) -> None:
    one = written(tmp_path, 3)
    (one.paths.episodes / "00003-1-deadbeef.parquet").write_bytes(b"PAR1 torn")
    (one.paths.commits / ".00003.json.deadbeef.tmp").write_bytes(b"{")
    assert writer(tmp_path).resume().next_index == 3
    with views.connect(tmp_path) as connection:
        assert connection.sql("SELECT count(*) FROM episodes").fetchall() == [(3,)]


def test_a_newer_lake_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 1)
    (tmp_path / "lake.json").write_text(f'{{"schema": {SCHEMA_VERSION + 1}}}')
    with pytest.raises(StorageError, match="newer"):
        writer(tmp_path)
    with pytest.raises(StorageError, match="upgrade"):
        views.connect(tmp_path)


def test_an_older_lake_is_refused_with_a_way_out(tmp_path: Path) -> None:
    written(tmp_path, 1)
    (tmp_path / "lake.json").write_text('{"schema": 1}')
    for use in (writer, views.connect, reader.list_chains):
        with pytest.raises(StorageError, match=r"schema 1 is older .* another storage root"):
            use(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "", "a/b", ".hidden"])
def test_names_cannot_leave_the_root(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="name"):
        ChainWriter(tmp_path, name, CHAIN, KEY)
    with pytest.raises(StorageError, match="name"):
        ChainWriter(tmp_path, "demo", name, KEY)


def test_digests_compare_runs_and_ignore_clocks(tmp_path: Path) -> None:
    written(tmp_path / "one")
    later = ChainWriter(tmp_path / "two", "demo", CHAIN, KEY)
    for episode in EPISODES[:6]:
        later.commit(dataclasses.replace(episode, started_at=1.0, finished_at=2.0, stages={}))
    digests = [reader.chain_digest(tmp_path / name, "demo", CHAIN) for name in ("one", "two")]
    assert digests[0] == digests[1]
    lines = [list(reader.export_trajectories(tmp_path / name, "demo", CHAIN)) for name in ("one", "two")]
    assert lines[0] == lines[1]
    assert trajectory_sha256(EPISODES[0].trajectory) != trajectory_sha256(EPISODES[1].trajectory)


def test_an_unknown_episode_is_named(tmp_path: Path) -> None:
    written(tmp_path, 2)
    with pytest.raises(StorageError, match="from 0 to 1"):
        reader.load_episode(tmp_path, "demo", CHAIN, 2)
    with pytest.raises(StorageError, match="no such chain"):
        reader.load_episode(tmp_path, "demo", "none", 0)
