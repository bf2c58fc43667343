"""What each file of a chain's folder is, from its name alone. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge_store.lake.checking.source import Listing

_RECORD = re.compile(r"commits/([0-9]{5,200})\.json")
_EPISODE = re.compile(r"episodes/([A-Za-z0-9][A-Za-z0-9._-]*\.parquet)")
_TABLE = re.compile(r"compact/([A-Za-z0-9][A-Za-z0-9._-]*\.parquet)")
_JOURNAL = re.compile(r"journal/([0-9]{5}|[1-9][0-9]{5,200})\.jsonl")
_LEASE = re.compile(r"lease-\d+\.json")
_TEMPORARY = re.compile(r"(?:[a-z]+/)?\.[^/]*\.tmp(?:/.*)?")
_FOLDERS = frozenset({"commits", "episodes", "compact", "journal"})


@dataclass(frozen=True, slots=True)
class ChainListing:
    """The files of one chain, by what they are. Paths are relative to the chain's folder."""

    sweep: str
    chain: str
    identity: bool = False
    records: Mapping[int, str] = field(default_factory=dict)
    """Index -> path of a commit record."""
    misnamed: tuple[str, ...] = ()
    """Commit records that have more zeros in front than the writer gives them."""
    episodes: Mapping[str, int] = field(default_factory=dict)
    """Name of an episode file -> bytes."""
    compact_record: bool = False
    tables: Mapping[str, int] = field(default_factory=dict)
    """Name of a flat table's file -> bytes."""
    journals: Mapping[int, str] = field(default_factory=dict)
    leases: tuple[str, ...] = ()
    temporary: tuple[str, ...] = ()
    """The outermost path of each: a temporary folder stands for what is in it."""
    unknown: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return f"{self.sweep}/chains/{self.chain}"

    def path(self, inside: str) -> str:
        """A path in this folder, relative to the root."""
        return f"{self.folder}/{inside}"


@dataclass(slots=True)
class _Sorted:
    """A chain's files while they are being sorted."""

    known: set[str] = field(default_factory=set)
    records: dict[int, str] = field(default_factory=dict)
    misnamed: list[str] = field(default_factory=list)
    episodes: dict[str, int] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    journals: dict[int, str] = field(default_factory=dict)
    leases: list[str] = field(default_factory=list)
    temporary: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)


def chain_listings(sweep: str, listing: Listing) -> tuple[list[ChainListing], list[str]]:
    """The chains of a sweep's ``chains`` folder, sorted by id, and the files that belong to none."""
    prefix = f"{sweep}/chains/"
    chains: dict[str, dict[str, int | None]] = {}
    strays = []
    for path, size in listing.items():
        chain, _, inside = path.removeprefix(prefix).partition("/")
        if inside or size is None:
            chains.setdefault(chain, {})[inside] = size
        else:
            strays.append(path)
    return [sort_chain(sweep, chain, files) for chain, files in sorted(chains.items())], sorted(strays)


def sort_chain(sweep: str, chain: str, files: Listing) -> ChainListing:
    """One chain's files by what they are; paths relative to the chain's folder."""
    found = _Sorted()
    for inside in sorted(files):
        _sort(found, inside, files[inside])
    return ChainListing(
        sweep,
        chain,
        "chain.json" in found.known,
        found.records,
        tuple(found.misnamed),
        found.episodes,
        "compact/compact.json" in found.known,
        found.tables,
        found.journals,
        tuple(found.leases),
        tuple(sorted(found.temporary)),
        tuple(found.unknown),
    )


def _sort(found: _Sorted, inside: str, size: int | None) -> None:
    if _TEMPORARY.fullmatch(inside):
        parts = inside.split("/")
        outermost = next(place for place, part in enumerate(parts) if part.startswith("."))
        found.temporary.add("/".join(parts[: outermost + 1]))
    elif size is None:
        if inside and inside not in _FOLDERS:
            found.unknown.append(inside)
    elif inside in ("chain.json", "compact/compact.json"):
        found.known.add(inside)
    elif record := _RECORD.fullmatch(inside):
        named = inside == f"commits/{int(record[1]):05d}.json"
        found.records.update({int(record[1]): inside} if named else {})
        found.misnamed.extend([] if named else [inside])
    elif journal := _JOURNAL.fullmatch(inside):
        found.journals[int(journal[1])] = inside
    elif episode := _EPISODE.fullmatch(inside):
        found.episodes[episode[1]] = size
    elif table := _TABLE.fullmatch(inside):
        found.tables[table[1]] = size
    elif _LEASE.fullmatch(inside):
        found.leases.append(inside)
    else:
        found.unknown.append(inside)
