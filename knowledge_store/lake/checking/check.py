"""A whole storage root, or some of its sweeps. Reads only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from knowledge_store.lake.checking.chain import Wanted, check_chain
from knowledge_store.lake.checking.findings import (
    Finding,
    Kind,
    Place,
    Report,
    leftover,
    note,
    unfinished,
)
from knowledge_store.lake.checking.layout import ChainListing, chain_listings
from knowledge_store.lake.checking.leases import check_leases
from knowledge_store.lake.checking.source import Source
from knowledge_store.lake.checking.sweeps import LAKE, check_lake_file, check_manifest
from knowledge_store.lake.manifest import Manifest
from ocm.errors import SpecError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TEMPORARY = re.compile(r"\.[^/]*\.tmp")
_LEASE = re.compile(r"lease-\d+\.json")

Watch = Callable[[int, int], None]
"""Is told how many episodes are checked, and of how many, as far as is known."""


class _Sweep(NamedTuple):
    name: str
    files: dict[str, int | None]
    """What the sweep's folder itself holds, by name."""
    chains: list[ChainListing]
    strays: list[str]


@dataclass(slots=True)
class _Progress:
    watch: Watch
    total: int = 0
    done: int = 0

    def advance(self) -> None:
        self.done += 1
        self.watch(self.done, self.total)


def check(
    source: Source,
    sweeps: Sequence[str] = (),
    *,
    quick: bool = False,
    watch: Watch = lambda done, total: None,
) -> Report:
    """Check the named sweeps, or all.

    Args:
        quick: listings, records and sizes only; no Parquet file is read.

    Raises:
        SpecError: there is no lake, or it has no such sweep.
        StorageError: the root cannot be listed.
    """
    top = source.listing()
    found = _sweeps(source, top, sweeps)
    ours, findings = check_lake_file(source.read(LAKE) if top.get(LAKE) is not None else None)
    results = [(Place(), finding) for finding in [*findings, *_temporary_at_root(top)]]
    if ours:
        progress = _Progress(watch, sum(len(chain.records) for sweep in found for chain in sweep.chains))
        for sweep in found:
            results += _check_sweep(source, sweep, quick, progress)
    chains = [chain for sweep in found for chain in sweep.chains]
    episodes = sum(len(chain.records) for chain in chains)
    return Report(source.name, len(found), len(chains), episodes, quick, tuple(_settled(results)))


def _settled(results: list[tuple[Place, Finding]]) -> list[tuple[Place, Finding]]:
    """``lake.json`` can be written anew only when every record is of our schema."""
    if not any(finding.kind is Kind.SCHEMA_OTHER for _, finding in results):
        return results
    why = "restore it from a copy: the lake's records are not all of this program's schema"
    lake = (Kind.LAKE_MISSING, Kind.LAKE_DAMAGED)
    return [
        (place, replace(one, repairable=False, mend=why) if one.kind in lake else one)
        for place, one in results
    ]


def _sweeps(source: Source, top: dict[str, int | None], wanted: Sequence[str]) -> list[_Sweep]:
    if "sweep.json" in top or "chain.json" in top:
        above = "its parent" if "sweep.json" in top else "the storage root that it is in"
        what = "a sweep's folder" if "sweep.json" in top else "a chain's folder"
        raise SpecError(f"{source.name}: is {what}, not a storage root; give {above} with --root")
    folders = sorted(name for name, size in top.items() if size is None and _NAME.fullmatch(name))
    if not folders and LAKE not in top:
        expected = "a storage root holds lake.json and a folder with sweep.json for each sweep"
        raise SpecError(f"{source.name}: no lake there: {expected}; give it with --root")
    names = [name for name in folders if not wanted or name in wanted]
    found = [sweep for sweep in (_sweep(source, name) for name in names) if sweep is not None]
    missing = sorted(set(wanted) - {sweep.name for sweep in found})
    if missing or not (found or LAKE in top):
        there = f"it has folders {', '.join(folders)}" if folders else "it is empty"
        what = f"no sweep {missing[0]!r}" if missing else "no lake there: no lake.json and no sweep.json"
        raise SpecError(f"{source.name}: {what}; {there}; give the storage root with --root")
    return found


def _sweep(source: Source, name: str) -> _Sweep | None:
    """None for a folder that is no sweep's."""
    listed = source.listing(name)
    files = {path.rpartition("/")[2]: size for path, size in listed.items()}
    if "sweep.json" not in files and "chains" not in files:
        return None
    chains, strays = chain_listings(name, source.listing(f"{name}/chains", recursive=True))
    return _Sweep(name, files, chains, strays)


def _temporary_at_root(top: dict[str, int | None]) -> list[Finding]:
    mend = "delete it if nothing is being played in this root"
    return [
        unfinished(Kind.TEMPORARY, name, "a kill left it", mend)
        for name in sorted(top)
        if _TEMPORARY.fullmatch(name)
    ]


def _check_sweep(
    source: Source, sweep: _Sweep, quick: bool, progress: _Progress
) -> list[tuple[Place, Finding]]:
    path = f"{sweep.name}/sweep.json"
    data = source.read(path) if sweep.files.get("sweep.json") is not None else None
    manifest, findings = check_manifest(sweep.name, data)
    results = [(Place(sweep.name), finding) for finding in [*findings, *_in_folder(source, sweep)]]
    wanted = wanted_of(manifest, quick)
    for chain in sweep.chains:
        place = Place(sweep.name, chain.chain)
        found = check_chain(source, chain, wanted(chain.chain), progress.advance)
        results += [(place, finding) for finding in found]
    return results


def wanted_of(manifest: Manifest | None, quick: bool) -> Callable[[str], Wanted]:
    """How each chain is to be checked, by the sweep's manifest."""
    if manifest is None:
        return lambda chain: Wanted(quick=quick)
    planned = {one.chain: one.episodes for one in manifest.chains}
    return lambda chain: Wanted(planned.get(chain), chain in planned, quick)


def _in_folder(source: Source, sweep: _Sweep) -> list[Finding]:
    """What lies in the sweep's own folder; other tools keep files there, which are left alone."""
    leases = tuple(f"{sweep.name}/{name}" for name in sweep.files if _LEASE.fullmatch(name))
    held = check_leases(source, leases)
    if held.living:
        return list(held.findings)
    temporary = [name for name in sorted(sweep.files) if _TEMPORARY.fullmatch(name)]
    return [
        *held.findings,
        *(leftover(Kind.TEMPORARY, f"{sweep.name}/{name}", "a kill left it") for name in temporary),
        *(note(Kind.UNKNOWN, one, "is no chain", "move it away if it is not yours") for one in sweep.strays),
    ]
