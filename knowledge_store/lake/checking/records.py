"""Commit records: each whole, in its place, following the one before. Pure functions of bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.checking.findings import RERUN, Finding, Kind, damage
from knowledge_store.lake.checking.layout import ChainListing
from knowledge_store.lake.checking.source import Unreadable
from knowledge_store.lake.commits import Commit, Hashes, fold, hashes_hash
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.identity import chain_id
from ocm.types import ChainKey

T = TypeVar("T")

_COMMIT: TypeAdapter[Commit] = TypeAdapter(Commit)
_KEY: TypeAdapter[ChainKey] = TypeAdapter(ChainKey)


@dataclass(frozen=True, slots=True)
class Record:
    """A commit record that can be read: its fields as they stand, and as a :class:`Commit`."""

    path: str
    fields: Mapping[str, Any]
    commit: Commit


class SchemaOther(ValueError):
    """The record is of another schema than ours."""


def as_record(kind: TypeAdapter[T], data: bytes | Unreadable) -> tuple[dict[str, Any], T]:
    """A record of the lake: its fields, and the same as a dataclass.

    Raises:
        SchemaOther: it is of another schema.
        ValueError: says in which way it is not as the writer writes it.
    """
    if isinstance(data, Unreadable):
        raise ValueError(f"cannot be read: {data.reason}")
    fields = disk.json_object(data)
    schema = fields.pop("schema", None)
    if schema != SCHEMA_VERSION:
        raise SchemaOther(f"is of schema {schema!r}, not {SCHEMA_VERSION}")
    value = disk.record(kind, fields)
    if disk.json_bytes({"schema": schema, **fields}) != data:
        raise ValueError("not in the form in which it was written")
    return fields, value


def as_plain(kind: TypeAdapter[T], data: bytes | Unreadable) -> T:
    """A file that is no record of the lake and has no schema, as a dataclass.

    Raises:
        ValueError: it is damaged.
    """
    if isinstance(data, Unreadable):
        raise ValueError(f"cannot be read: {data.reason}")
    return disk.record(kind, disk.json_object(data))


def check_records(
    chain: ChainListing, read: Mapping[int, bytes | Unreadable]
) -> tuple[list[Record], list[Finding]]:
    """The records that can be read, in order, and what is wrong with the records by themselves."""
    records, findings = [], [_misnamed(chain, inside) for inside in chain.misnamed]
    for index in sorted(read):
        found = _record(chain, index, read[index])
        if isinstance(found, Record):
            records.append(found)
        else:
            findings.append(found)
    return records, [*findings, *_gaps(chain, sorted(read)), *_order(records), *_shared(records)]


def memories(records: Sequence[Record]) -> tuple[dict[int, Hashes], list[Finding]]:
    """The memory, by hash, *before* each record; what is wrong with the deltas.

    Only as far as the records have no gap: the memory after one is not known.
    """
    before: dict[int, Hashes] = {}
    known: Hashes = {}
    for index, record in enumerate(records):
        if record.commit.episode != index:
            break
        before[index] = known
        known = fold(known, record.commit.memory_delta)
        if hashes_hash(known) != record.commit.memory_sha256:
            what = "its memory delta does not give its memory hash"
            return before, [damage(Kind.MEMORY_WRONG, record.path, what)]
    return before, []


def check_identity(chain: ChainListing, data: bytes | Unreadable | None) -> list[Finding]:
    """What is wrong with ``chain.json``; ``data`` is None where there is none."""
    path = chain.path("chain.json")
    again = f"{RERUN}: it writes the file from the spec"
    if data is None:
        return [damage(Kind.IDENTITY_MISSING, path, "missing", again)]
    mend = f"restore it from a copy, or move it away and {again}"
    try:
        fields, value = as_record(TypeAdapter(dict[str, Any]), data)
        key = disk.record(_KEY, value.get("key"))
    except SchemaOther as other:
        return [damage(Kind.SCHEMA_OTHER, path, str(other), mend)]
    except ValueError as error:
        return [damage(Kind.IDENTITY_DAMAGED, path, f"damaged ({error})", mend)]
    moved = "give the folder its name back"
    if set(fields) != {"sweep", "chain", "key"}:
        return [damage(Kind.IDENTITY_DAMAGED, path, "has other fields than were written", mend)]
    if (fields["sweep"], fields["chain"]) != (chain.sweep, chain.chain):
        what = f"is of {fields['sweep']}/{fields['chain']}"
        return [damage(Kind.IDENTITY_OTHER, path, what, moved)]
    if chain_id(key) != chain.chain:
        what = f"its key is that of {chain_id(key)}"
        return [damage(Kind.IDENTITY_OTHER, path, what, mend)]
    return []


def _record(chain: ChainListing, index: int, data: bytes | Unreadable) -> Record | Finding:
    path = chain.path(f"commits/{index:05d}.json")
    try:
        fields, commit = as_record(_COMMIT, data)
    except SchemaOther as other:
        return damage(Kind.SCHEMA_OTHER, path, str(other))
    except ValueError as error:
        return damage(Kind.COMMIT_DAMAGED, path, f"damaged ({error})")
    assert isinstance(data, bytes)
    if commit.sha256:
        return damage(Kind.COMMIT_DAMAGED, path, "damaged (sha256: is no field of a record)")
    if commit.episode != index:
        return damage(Kind.COMMIT_PLACE, path, f"is the record of episode {commit.episode}")
    return Record(path, fields, replace(commit, sha256=disk.digest(data)))


def _misnamed(chain: ChainListing, inside: str) -> Finding:
    mend = "move the file away, unless it is the only record of that episode"
    return damage(Kind.COMMIT_PLACE, chain.path(inside), "has a name that no record is given", mend)


def _gaps(chain: ChainListing, indices: Sequence[int]) -> list[Finding]:
    findings = []
    for before, after in zip([-1, *indices], indices, strict=False):
        if after > before + 1:
            last = f" to {after - 1:05d}" if after > before + 2 else ""
            what = f"missing{last}, though the record of episode {after} exists"
            findings.append(damage(Kind.COMMIT_GAP, chain.path(f"commits/{before + 1:05d}.json"), what))
    return findings


def _order(records: Sequence[Record]) -> list[Finding]:
    findings = []
    known = {record.commit.episode: record.commit.sha256 for record in records}
    for record in records:
        index = record.commit.episode
        expected = known.get(index - 1) if index else ""
        if expected is not None and record.commit.previous != expected:
            what = "does not follow the record before it: one of the two is not as it was written"
            findings.append(damage(Kind.COMMIT_ORDER, record.path, what))
    return findings


def _shared(records: Sequence[Record]) -> list[Finding]:
    naming = defaultdict(list)
    for record in records:
        naming[record.commit.file].append(record)
    return [
        damage(Kind.COMMIT_SHARED, several[1].path, f"names {file}, as does {several[0].path}")
        for file, several in naming.items()
        if len(several) > 1
    ]
