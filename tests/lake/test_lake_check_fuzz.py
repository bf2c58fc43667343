"""Any harm to any file of a lake: the check never fails, misses nothing, and what is repaired is whole."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_store.lake import views
from knowledge_store.lake.checking.check import check
from knowledge_store.lake.checking.findings import Report
from knowledge_store.lake.checking.repair import repair
from knowledge_store.lake.checking.source import open_source
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.reader import list_chains, played, verify_chain
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEYS = (fake_key(), fake_key(seed=1))
EPISODES = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished chain with flat tables, and one that is under way."""
    root = tmp_path_factory.mktemp("made") / "runs"
    for key in KEYS:
        writer = ChainWriter(root, "demo", chain_id(key), key)
        for episode in fake_chain(key, EPISODES, steps=1):
            writer.commit(episode)
        if key is KEYS[0]:
            writer.compact()
    planned = [PlannedChain(chain_id(key), key, EPISODES + key.seed) for key in KEYS]
    write_manifest(root, "demo", {"name": "demo"}, planned, {"ocm": "0"})
    return root


def _flip(path: Path, other: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, other: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) or 1)])


def _grow(path: Path, other: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.randrange(1, 20)))


def _spoil(path: Path, other: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice([b"", b"\0" * 100, b"[" * 100_000, b'"\\ud800"', draw.randbytes(50)]))


def _remove(path: Path, other: Path, draw: random.Random) -> None:
    path.unlink()


def _double(path: Path, other: Path, draw: random.Random) -> None:
    shutil.copy(
        path, path.with_name(draw.choice([f"0{path.name}", f".{path.name}.tmp", "00007.json", "\x1b"]))
    )


def _over(path: Path, other: Path, draw: random.Random) -> None:
    shutil.copy(path, other)


def _swap(path: Path, other: Path, draw: random.Random) -> None:
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def _folder(path: Path, other: Path, draw: random.Random) -> None:
    path.unlink()
    path.mkdir()


HARMS: tuple[Callable[[Path, Path, random.Random], None], ...] = (
    _flip,
    _flip,
    _cut,
    _grow,
    _spoil,
    _remove,
    _double,
    _over,
    _swap,
    _folder,
)


def _harm(root: Path, draw: random.Random) -> None:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    path, other = draw.sample(files, 2)
    draw.choice(HARMS)(path, other, draw)


def _committed(root: Path) -> dict[str, bytes]:
    """What proves a chain, by its place: records, episode files and identities."""
    parts = ("/commits/", "/episodes/", "/chain.json")
    files = (path for path in root.rglob("*") if path.is_file() and "/chains/" in str(path))
    named = {str(path.relative_to(root)): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if any(part in name for part in parts)}


def _changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name, data in before.items() if after.get(name) != data}


def _is_last_record(name: str) -> bool:
    """The last record of a chain without flat tables: without it the chain is one episode shorter."""
    return f"{chain_id(KEYS[1])}/commits/{EPISODES - 1:05d}.json" in name


def _check(root: Path) -> Report | None:
    for quick in (True, False):
        try:
            report = check(open_source(str(root)), quick=quick)
        except SpecError:
            return None
    return report


def _read(root: Path) -> None:
    for info in list_chains(root):
        verify_chain(root, info.sweep, info.chain)
        assert len(list(played(root, info.sweep, info.chain))) == info.done
    for table in ("episodes", "calls", "texts", "chains", "sweeps"):
        views.query(root, f"SELECT * FROM {table}")


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(seed=st.integers(0, 2**32), harms=st.integers(1, 3))
def test_no_harm_is_missed_and_no_repair_does_any(
    made: Path, tmp_path_factory: pytest.TempPathFactory, seed: int, harms: int
) -> None:
    root = tmp_path_factory.mktemp("harmed") / "runs"
    shutil.copytree(made, root)
    draw = random.Random(seed)
    try:
        for _ in range(harms):
            _harm(root, draw)
        _judge(made, root)
    finally:
        shutil.rmtree(root.parent)


def _judge(made: Path, root: Path) -> None:
    report = _check(root)
    assert report is not None
    harmed = _committed(root)
    changed = _changed(_committed(made), harmed)
    if any(not _is_last_record(name) for name in changed):
        assert report.damaged, changed
    elif any(name not in harmed for name in changed):
        assert report.findings
    if not report.damaged:
        _read(root)
    repair(open_source(str(root)))
    kept = _committed(root)
    assert not _changed({name: data for name, data in harmed.items() if _is_kept(name, made, report)}, kept)
    after = _check(root)
    assert after is not None
    assert not any(finding.repairable for _, finding in after.findings), after.findings
    if not after.damaged:
        _read(root)


def _is_kept(name: str, made: Path, report: Report) -> bool:
    """Committed at first, and not made an orphan by the loss of the record that named it."""
    orphans = {
        finding.path for _, finding in report.findings if finding.kind == "episode file that no record names"
    }
    return (made / name).exists() and name not in orphans
