"""Mending what can safely be mended. Committed episodes and commit records are never touched.

Each place is mended under its lease, so never while it is played; it is checked again under the lease
before anything is done, and afterwards. What is taken out of the way is moved to ``.set-aside`` in the
storage root. A kill at any moment leaves a lake that can be repaired by the same command.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from knowledge_store.lake import compact, disk
from knowledge_store.lake.checking.chain import check_chain, relist
from knowledge_store.lake.checking.check import Watch, check, wanted_of
from knowledge_store.lake.checking.findings import Finding, Kind, Place
from knowledge_store.lake.checking.layout import ChainListing
from knowledge_store.lake.checking.source import Source
from knowledge_store.lake.checking.sweeps import check_manifest
from knowledge_store.lake.journal import Journal
from knowledge_store.lake.lease import holding
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.root import open_for_writing
from ocm.errors import LeaseError, StorageError

SET_ASIDE = ".set-aside"
_ROUNDS = 4
"""Mending may bring to light what was hidden, such as tables that the new record does not name."""


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done, or would be."""

    path: str
    what: str


@dataclass(slots=True)
class Repaired:
    """What a repair did, could not do and left."""

    done: list[Done] = field(default_factory=list)
    refused: list[Done] = field(default_factory=list)
    """Places that are being played, or whose disk refused."""
    left: list[tuple[Place, Finding]] = field(default_factory=list)
    """Findings that no repair mends."""


def repair(
    source: Source,
    sweeps: Sequence[str] = (),
    *,
    dry_run: bool = False,
    watch: Watch = lambda done, total: None,
) -> Repaired:
    """Mend what is safe in the named sweeps, or in all.

    Raises:
        SpecError: there is no lake, or it has no such sweep.
        StorageError: the root is in an object store, or cannot be listed.
    """
    if source.local is None:
        raise StorageError(
            f"{source.name}: only a lake on a file system can be repaired, since an object store has neither"
            " renames nor leases; copy the lake to a folder, repair it there, and copy it back"
        )
    repaired = Repaired()
    mending = _Mending(source, source.local, repaired)
    for place, findings in check(source, sweeps, watch=watch).by_place():
        mendable = [finding for finding in findings if finding.repairable]
        if not mendable:
            repaired.left += [(place, finding) for finding in findings]
        elif dry_run:
            repaired.done += [Done(one.path, _ACTIONS[one.kind].says) for one in mendable]
            repaired.left += [(place, finding) for finding in findings if not finding.repairable]
        else:
            mending.mend(place, findings)
    return repaired


@dataclass(frozen=True, slots=True)
class _Mending:
    source: Source
    root: Path
    repaired: Repaired
    stamp: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ"))

    def mend(self, place: Place, findings: Sequence[Finding]) -> None:
        """Mend one place; that it is refused, or fails, does not stop the others."""
        folder = _folder(place)
        try:
            if not place.sweep:
                left = self._act(findings)
            else:
                with holding(self.root, self.root / folder, f"{folder}, which is to be repaired"):
                    self._say(findings, Kind.LEASE_DEAD)
                    left = self._mend_chain(place) if place.chain else self._act(findings)
        except (LeaseError, StorageError, OSError) as error:
            self.repaired.refused.append(Done(folder or str(self.root), str(error)))
            left = [finding for finding in findings if not finding.repairable]
        self.repaired.left += [(place, finding) for finding in left]

    def _mend_chain(self, place: Place) -> list[Finding]:
        """Check and mend until nothing is left to mend; the rest."""
        path = f"{place.sweep}/sweep.json"
        manifest, _ = check_manifest(place.sweep, self.source.read(path))
        wanted = replace(wanted_of(manifest, quick=False)(place.chain), ours=True)
        empty = ChainListing(place.sweep, place.chain)
        findings: list[Finding] = []
        for _ in range(_ROUNDS):
            findings = check_chain(self.source, relist(self.source, empty), wanted, lambda: None)
            if not any(finding.repairable for finding in findings):
                break
            self._act(findings)
        return findings

    def _act(self, findings: Sequence[Finding]) -> list[Finding]:
        """Mend what can be mended, each thing once; the rest."""
        tables = False
        for finding in findings:
            if not finding.repairable or finding.kind is Kind.LEASE_DEAD:
                continue
            if finding.kind in (Kind.TABLES_DAMAGED, Kind.TABLES_BEHIND):
                if tables:
                    continue
                tables = True
            action = _ACTIONS[finding.kind]
            action.act(self, finding)
            self.repaired.done.append(Done(finding.path, action.says))
        return [finding for finding in findings if not finding.repairable]

    def _say(self, findings: Sequence[Finding], kind: Kind) -> None:
        self.repaired.done += [Done(one.path, _ACTIONS[kind].says) for one in findings if one.kind is kind]

    def set_aside(self, path: str) -> None:
        """Move a file out of the way."""
        target = self.root / SET_ASIDE / self.stamp / path
        with disk.storage_errors(target):
            disk.make_folder(target.parent)
            (self.root / path).rename(target)
            disk.flush_folder(target.parent)
            disk.flush_folder((self.root / path).parent)


def _folder(place: Place) -> str:
    return f"{place.sweep}/chains/{place.chain}" if place.chain else place.sweep


def _set_aside(mending: _Mending, finding: Finding) -> None:
    mending.set_aside(finding.path)


def _remove(mending: _Mending, finding: Finding) -> None:
    path = mending.root / finding.path
    with disk.storage_errors(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        disk.flush_folder(path.parent)


def _drop_torn(mending: _Mending, finding: Finding) -> None:
    """The journal itself does it, and counts what it drops: that becomes part of the episode."""
    Journal(mending.root / finding.path).close()


def _tables(mending: _Mending, finding: Finding) -> None:
    """``compact.json`` goes first: without it readers take the episode files."""
    sweep, _, chain, *_ = finding.path.split("/")
    paths = ChainPaths(mending.root, sweep, chain)
    listing = relist(mending.source, ChainListing(sweep, chain))
    if finding.kind is Kind.TABLES_DAMAGED:
        files = [*(["compact.json"] if listing.compact_record else []), *listing.tables]
        for file in files:
            mending.set_aside(listing.path(f"compact/{file}"))
    for inside in listing.unknown:  # such as a folder where a table is to be
        if inside.startswith("compact/") and inside.count("/") == 1:
            mending.set_aside(listing.path(inside))
    disk.make_folder(paths.compact)
    compact.compact(paths)


def _lake_file(mending: _Mending, finding: Finding) -> None:
    if (mending.root / finding.path).exists():
        mending.set_aside(finding.path)
    open_for_writing(mending.root)


def _nothing(mending: _Mending, finding: Finding) -> None:
    """A dead holder's lease is cleared by taking it and giving it back."""


@dataclass(frozen=True, slots=True)
class _Action:
    act: Callable[[_Mending, Finding], None]
    says: str


_ASIDE = _Action(_set_aside, f"moved to {SET_ASIDE}")
_REMOVED = _Action(_remove, "removed")
_MADE = _Action(_tables, "flat tables made again from the episodes")
_WRITTEN = _Action(_lake_file, "written anew")

_ACTIONS: dict[Kind, _Action] = {
    Kind.ORPHAN: _ASIDE,
    Kind.TABLE_ORPHAN: _ASIDE,
    Kind.TEMPORARY: _REMOVED,
    Kind.JOURNAL_DONE: _REMOVED,
    Kind.JOURNAL_TORN: _Action(_drop_torn, "torn end cut off"),
    Kind.TABLES_DAMAGED: _MADE,
    Kind.TABLES_BEHIND: _MADE,
    Kind.LAKE_MISSING: _WRITTEN,
    Kind.LAKE_DAMAGED: _WRITTEN,
    Kind.LEASE_DEAD: _Action(_nothing, "given back for its dead holder"),
}
