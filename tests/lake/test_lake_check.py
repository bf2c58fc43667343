"""`ocm check` and `ocm repair` on small lakes that somebody has harmed in a known way."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_store.lake import disk
from knowledge_store.lake.checking.check import check
from knowledge_store.lake.checking.findings import Kind, Report, Severity
from knowledge_store.lake.checking.repair import SET_ASIDE, Repaired, repair
from knowledge_store.lake.checking.source import open_source
from knowledge_store.lake.holders import holders_folder
from knowledge_store.lake.journal import Journal
from knowledge_store.lake.lease import holding
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.reader import load_episode, verify_chain
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError, StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_episode, fake_key

KEY, OTHER = fake_key(), fake_key(seed=1)
CHAIN = chain_id(KEY)
EPISODES = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished chain with flat tables, and one that has just begun."""
    root = tmp_path_factory.mktemp("made") / "runs"
    for key, episodes in ((KEY, EPISODES), (OTHER, 1)):
        writer = ChainWriter(root, "demo", chain_id(key), key)
        for episode in fake_chain(key, episodes, steps=2):
            writer.commit(episode)
        if episodes == EPISODES:
            writer.compact()
    planned = [PlannedChain(chain_id(key), key, EPISODES) for key in (KEY, OTHER)]
    write_manifest(root, "demo", {"name": "demo"}, planned, {"ocm": "0"})
    return root


@pytest.fixture
def at(made: Path, tmp_path: Path) -> ChainPaths:
    shutil.copytree(made, tmp_path / "runs")
    return ChainPaths(tmp_path / "runs", "demo", CHAIN)


def checked(root: Path, *, quick: bool = False) -> Report:
    return check(open_source(str(root)), quick=quick)


def kinds(report: Report) -> set[Kind]:
    return {finding.kind for _, finding in report.findings}


def repaired(root: Path) -> Repaired:
    return repair(open_source(str(root)))


def _edit(path: Path, **changes: object) -> None:
    fields = json.loads(path.read_bytes()) | changes
    path.write_bytes(disk.json_bytes(fields))


def _first(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _swap(first: Path, second: Path) -> None:
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)


Harm = Callable[[ChainPaths], object]
DAMAGE: dict[str, tuple[Harm, Kind]] = {
    "older schema": (lambda at: _edit(at.root / "lake.json", schema=1), Kind.SCHEMA_OTHER),
    "record of another schema": (lambda at: _edit(at.commit(1), schema=1), Kind.SCHEMA_OTHER),
    "manifest cut": (lambda at: (at.root / "demo/sweep.json").write_text("{"), Kind.MANIFEST_DAMAGED),
    "manifest gone": (lambda at: (at.root / "demo/sweep.json").unlink(), Kind.MANIFEST_MISSING),
    "spec edited": (
        lambda at: _edit(at.root / "demo/sweep.json", spec={"name": "other"}),
        Kind.MANIFEST_DAMAGED,
    ),
    "key edited": (lambda at: _edit_key(at.root / "demo/sweep.json"), Kind.MANIFEST_CHAIN),
    "identity gone": (lambda at: at.identity.unlink(), Kind.IDENTITY_MISSING),
    "identity cut": (lambda at: at.identity.write_text("["), Kind.IDENTITY_DAMAGED),
    "identity of another sweep": (lambda at: _edit(at.identity, sweep="other"), Kind.IDENTITY_OTHER),
    "folder renamed": (lambda at: at.folder.rename(at.folder.with_name("renamed")), Kind.EPISODE_PLACE),
    "record gone": (lambda at: at.commit(1).unlink(), Kind.COMMIT_GAP),
    "last record gone": (lambda at: at.commit(2).unlink(), Kind.COMMIT_GAP),
    "record cut": (lambda at: at.commit(2).write_bytes(at.commit(2).read_bytes()[:50]), Kind.COMMIT_DAMAGED),
    "record of another index": (lambda at: shutil.copy(at.commit(1), at.commit(2)), Kind.COMMIT_PLACE),
    "records swapped": (lambda at: _swap(at.commit(1), at.commit(2)), Kind.COMMIT_PLACE),
    "record doubled": (lambda at: shutil.copy(at.commit(1), at.commits / "000001.json"), Kind.COMMIT_PLACE),
    "record edited": (lambda at: _edit(at.commit(1), reward=0.5), Kind.COMMIT_ORDER),
    "last record edited": (lambda at: _edit(at.commit(2), cost=12.5), Kind.COMMIT_WRONG),
    "delta edited": (lambda at: _edit(at.commit(2), memory_delta={"a.py": "0" * 64}), Kind.MEMORY_WRONG),
    "one file twice": (lambda at: _share(at), Kind.COMMIT_SHARED),
    "episode gone": (lambda at: _first(at.episodes, "00001-*").unlink(), Kind.EPISODE_MISSING),
    "episode cut": (lambda at: os.truncate(_first(at.episodes, "00001-*"), 99), Kind.EPISODE_DAMAGED),
    "episode flipped": (lambda at: _flip(_first(at.episodes, "00001-*")), Kind.EPISODE_DAMAGED),
    "journal ahead": (lambda at: _journal(at, 7), Kind.JOURNAL_AHEAD),
}


def _edit_key(path: Path) -> None:
    chains = json.loads(path.read_bytes())["chains"]
    chains[0]["key"]["seed"] = 7
    _edit(path, chains=chains)


def _share(at: ChainPaths) -> None:
    _edit(at.commit(2), file=json.loads(at.commit(1).read_bytes())["file"])


def _journal(at: ChainPaths, index: int, data: bytes = b"") -> Path:
    at.journals.mkdir(exist_ok=True)
    path = at.journal(index)
    path.write_bytes(data)
    _edit(at.root / "demo/sweep.json", chains=[])
    return path


def test_a_whole_lake_has_no_findings(at: ChainPaths) -> None:
    report = checked(at.root)
    assert report.findings == ()
    assert (report.sweeps, report.chains, report.episodes) == (1, 2, EPISODES + 1)
    assert not repaired(at.root).done


@pytest.mark.parametrize("harm", DAMAGE)
def test_damage_is_named_and_not_repaired(at: ChainPaths, harm: str) -> None:
    do, kind = DAMAGE[harm]
    do(at)
    report = checked(at.root)
    found = [finding for _, finding in report.findings if finding.kind is kind]
    assert found, report.findings
    assert report.damaged
    assert all(one.severity is Severity.DAMAGE and one.mend and not one.repairable for one in found)
    before = _bytes_of(at.root)
    repaired(at.root)
    assert before.items() <= _bytes_of(at.root).items()
    assert kind in kinds(checked(at.root))


def _bytes_of(root: Path) -> dict[Path, bytes]:
    """What must never be touched."""
    patterns = ("*/chains/*/commits/0*", "*/chains/*/episodes/*", "*/chains/*/chain.json", "*/sweep.json")
    return {path: path.read_bytes() for pattern in patterns for path in root.glob(pattern)}


MENDABLE: dict[str, tuple[Harm, Kind]] = {
    "no lake.json": (lambda at: (at.root / "lake.json").unlink(), Kind.LAKE_MISSING),
    "lake.json cut": (lambda at: (at.root / "lake.json").write_text('{"sch'), Kind.LAKE_DAMAGED),
    "orphan": (lambda at: (at.episodes / "00003-1-00000000.parquet").write_text("x"), Kind.ORPHAN),
    "temporary file": (lambda at: (at.commits / ".00003.json.0a.tmp").write_text("x"), Kind.TEMPORARY),
    "temporary folder": (lambda at: _folder(at.compact / ".abc.tmp"), Kind.TEMPORARY),
    "temporary manifest": (
        lambda at: (at.root / "demo/.sweep.json.0a.tmp").write_text("x"),
        Kind.TEMPORARY,
    ),
    "table gone": (lambda at: _first(at.compact, "calls-*").unlink(), Kind.TABLES_DAMAGED),
    "table flipped": (lambda at: _flip(_first(at.compact, "texts-*")), Kind.TABLES_DAMAGED),
    "tables' record cut": (lambda at: at.compact_record.write_text("{}"), Kind.TABLES_DAMAGED),
    "tables' record edited": (lambda at: _edit(at.compact_record, episodes=2), Kind.TABLES_DAMAGED),
    "no tables": (lambda at: shutil.rmtree(at.compact), Kind.TABLES_BEHIND),
    "stray table": (lambda at: (at.compact / "old.parquet").write_text("x"), Kind.TABLE_ORPHAN),
    "journal of a committed episode": (lambda at: _journal(at, 1), Kind.JOURNAL_DONE),
    "torn journal": (lambda at: _journal(at, EPISODES, b"half a li"), Kind.JOURNAL_TORN),
}


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "table.parquet").write_text("x")


@pytest.mark.parametrize("harm", MENDABLE)
def test_what_is_safe_to_mend_is_mended(at: ChainPaths, harm: str) -> None:
    do, kind = MENDABLE[harm]
    do(at)
    assert kind in kinds(checked(at.root))
    committed = {path: data for path, data in _bytes_of(at.root).items() if "00003-" not in path.name}
    assert repaired(at.root).done
    report = checked(at.root)
    assert kind not in kinds(report)
    assert not report.damaged
    assert not any(finding.repairable for _, finding in report.findings)
    assert committed.items() <= _bytes_of(at.root).items()
    assert verify_chain(at.root, "demo", CHAIN) == EPISODES


def test_an_orphan_is_moved_and_not_deleted(at: ChainPaths) -> None:
    (at.episodes / "00003-1-00000000.parquet").write_text("precious")
    repaired(at.root)
    (kept,) = (at.root / SET_ASIDE).rglob("00003-*")
    assert kept.read_text() == "precious"


def test_a_file_that_a_lost_record_may_name_is_no_orphan(at: ChainPaths) -> None:
    at.commit(1).write_text("")
    before = sorted(at.episodes.iterdir())
    repaired(at.root)
    assert sorted(at.episodes.iterdir()) == before


def test_a_dry_run_changes_nothing(at: ChainPaths) -> None:
    (at.commits / ".a.tmp").write_text("x")
    before = {path: path.is_file() and path.read_bytes() for path in at.root.rglob("*")}
    assert len(repair(open_source(str(at.root)), dry_run=True).done) == 1
    assert {path: path.is_file() and path.read_bytes() for path in at.root.rglob("*")} == before


def test_what_a_living_process_writes_is_no_finding_and_is_not_repaired(at: ChainPaths) -> None:
    (at.commits / ".a.tmp").write_text("x")
    (at.episodes / "00003-1-00000000.parquet").write_text("x")
    with holding(at.root, at.folder, "this chain"):
        assert kinds(checked(at.root)) == {Kind.LEASE_HELD}
        assert not repaired(at.root).done
        at.commit(1).unlink()
        assert Kind.COMMIT_GAP in kinds(checked(at.root)), "damage is told at any time"
    assert Kind.TEMPORARY in kinds(checked(at.root))


def test_a_chain_that_begins_to_be_played_is_left_alone(
    at: ChainPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    (at.commits / ".a.tmp").write_text("x")
    source = open_source(str(at.root))
    report = check(source)
    monkeypatch.setattr("knowledge_store.lake.checking.repair.check", lambda *args, **options: report)
    with holding(at.root, at.folder, "this chain"):
        (refused,) = repair(source).refused
    assert CHAIN in refused.path
    assert (at.commits / ".a.tmp").exists()


def test_a_dead_holder_is_cleared(at: ChainPaths) -> None:
    with holding(at.root, at.folder, "this chain") as lease:
        data = lease.path.read_bytes()
    fields = json.loads(data)
    lease.path.write_bytes(
        disk.json_bytes({**fields, "given_back": False, "holder": {**fields["holder"], "started": "1"}})
    )
    assert kinds(checked(at.root)) == {Kind.LEASE_DEAD}
    repaired(at.root)
    assert checked(at.root).findings == ()


def test_a_holder_on_another_machine_counts_as_living_while_it_is_present(at: ChainPaths) -> None:
    with holding(at.root, at.folder, "this chain") as lease:
        fields = json.loads(lease.path.read_bytes())
    holder = {**fields["holder"], "machine": "another", "id": "far"}
    lease.path.write_bytes(disk.json_bytes({**fields, "given_back": False, "holder": holder}))
    assert kinds(checked(at.root)) == {Kind.LEASE_DEAD}
    (holders_folder(at.root) / "far.json").write_text("1")
    assert kinds(checked(at.root)) == {Kind.LEASE_HELD}


def test_a_lease_that_cannot_be_read_is_named(at: ChainPaths) -> None:
    (at.folder / "lease-00001.json").write_text("{")
    (at.commits / ".a.tmp").write_text("x")
    assert Kind.LEASE_DAMAGED in kinds(checked(at.root))
    (refused,) = repaired(at.root).refused
    assert "lease-00001.json" in refused.what


def test_a_commit_during_the_check_is_no_finding(at: ChainPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are not listed in one instant: a record may be seen without its episode file."""
    from knowledge_store.lake.checking import chain, layout

    whole = layout.chain_listings

    def partly(sweep: str, listing: layout.Listing) -> tuple[list[layout.ChainListing], list[str]]:
        return whole(sweep, {path: size for path, size in listing.items() if "/episodes/00002" not in path})

    monkeypatch.setattr("knowledge_store.lake.checking.check.chain_listings", partly)
    assert checked(at.root).findings == ()
    monkeypatch.setattr(chain, "relist", lambda source, listed: listed)
    assert kinds(checked(at.root)) == {Kind.EPISODE_MISSING}, "without a second look it would be one"


def test_an_open_journal_is_kept(at: ChainPaths) -> None:
    episode = fake_episode(KEY, EPISODES, {}, steps=2)
    _journal(at, EPISODES).unlink()
    journal = Journal(at.journal(EPISODES))
    for call in episode.calls[:2]:
        journal.append(call.request, call.reply)
    journal.close()
    data = at.journal(EPISODES).read_bytes()
    with at.journal(EPISODES).open("ab") as file:
        file.write(b"half a li" + bytes(100))
    (torn,) = [one for _, one in checked(at.root).findings if one.kind is Kind.JOURNAL_TORN]
    assert "2 replies" in torn.what
    repaired(at.root)
    assert at.journal(EPISODES).read_bytes().startswith(data)
    assert Kind.JOURNAL_OPEN in kinds(checked(at.root))


def test_a_damaged_journal_is_left_to_the_next_run(at: ChainPaths) -> None:
    path = _journal(at, EPISODES, b"00000000 {}\n")
    assert Kind.JOURNAL_DAMAGED in kinds(checked(at.root))
    repaired(at.root)
    assert path.read_bytes() == b"00000000 {}\n"


def test_notes_are_no_damage(at: ChainPaths) -> None:
    (at.folder / "mine.txt").write_text("x")
    at.folder.with_name("empty").mkdir()
    chains = json.loads((at.root / "demo/sweep.json").read_bytes())["chains"]
    few = [{**one, "episodes": 2} for one in chains if one["chain"] == CHAIN]
    _edit(at.root / "demo/sweep.json", chains=few)
    report = checked(at.root)
    wanted = {Kind.UNKNOWN, Kind.NOT_BEGUN, Kind.UNPLANNED_EPISODES, Kind.UNPLANNED_CHAIN}
    assert kinds(report) == wanted
    assert not report.damaged


def test_records_of_another_schema_forbid_a_new_lake_file(at: ChainPaths) -> None:
    (at.root / "lake.json").unlink()
    _edit(at.commit(0), schema=1)
    repaired(at.root)
    assert not (at.root / "lake.json").exists()


def test_quick_reads_no_parquet(at: ChainPaths) -> None:
    _flip(_first(at.episodes, "00001-*"))
    assert checked(at.root, quick=True).findings == ()
    os.truncate(_first(at.episodes, "00001-*"), 99)
    assert kinds(checked(at.root, quick=True)) == {Kind.EPISODE_DAMAGED}


@pytest.mark.parametrize(
    ("below", "sweeps", "says"),
    [
        ("..", (), "no lake"),
        ("nowhere", (), "no such folder"),
        ("demo", (), "a sweep's folder"),
        (f"demo/chains/{CHAIN}", (), "a chain's folder"),
        (".", ("other",), "no sweep 'other'"),
    ],
)
def test_a_wrong_root_says_what_was_expected(
    at: ChainPaths, below: str, sweeps: tuple[str, ...], says: str
) -> None:
    with pytest.raises(SpecError, match=says):
        check(open_source(str(at.root / below)), sweeps)


@pytest.mark.parametrize("url", ["nothing://x/y", "s3://", "s3://?a=b"])
def test_a_url_that_nobody_knows_is_refused(url: str) -> None:
    with pytest.raises(SpecError):
        open_source(url)


def test_a_lake_elsewhere_and_read_only_checks(at: ChainPaths, tmp_path: Path) -> None:
    """No record says where the lake was written."""
    for path in at.root.rglob("*.json"):
        assert str(at.root) not in path.read_text()
    elsewhere = tmp_path / "a copy"
    shutil.copytree(at.root, elsewhere)
    shutil.rmtree(at.root)
    for path in (elsewhere, *elsewhere.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in (elsewhere, *elsewhere.rglob("*"))}
    assert checked(elsewhere).findings == ()
    assert load_episode(elsewhere, "demo", CHAIN, 1).index == 1
    assert {path: path.stat().st_mtime_ns for path in (elsewhere, *elsewhere.rglob("*"))} == before
    for path in (elsewhere, *elsewhere.rglob("*")):
        path.chmod(0o755)


def test_a_disk_that_refuses_is_told_and_the_rest_is_mended(
    at: ChainPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chain in (CHAIN, chain_id(OTHER)):
        (at.folder.with_name(chain) / "episodes/00003-1-00000000.parquet").write_text("x")
    rename, failed = Path.rename, []

    def refuse(self: Path, target: Path) -> Path:
        if not failed:
            failed.append(self)
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    report = repaired(at.root)
    assert (len(report.done), len(report.refused)) == (1, 1)
    assert "Permission denied" in report.refused[0].what


def test_an_object_store_is_not_repaired() -> None:
    with pytest.raises(StorageError, match="copy the lake to a folder"):
        repair(open_source("s3://bucket/prefix?region=us-east-1"))
