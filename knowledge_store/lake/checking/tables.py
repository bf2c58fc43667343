"""The flat tables of a chain against its commit records. Pure functions of bytes.

Tables can be made again from the episodes, so what is wrong here is mended by ``ocm repair``; unless
the record of the tables proves that commit records were lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.checking.findings import Finding, Kind, damage, repairable_damage
from knowledge_store.lake.checking.layout import ChainListing
from knowledge_store.lake.checking.records import Record, as_record
from knowledge_store.lake.checking.source import Unreadable
from knowledge_store.lake.files import CompactRecord
from knowledge_store.lake.schema import TABLES, flat_schema

_RECORD: TypeAdapter[CompactRecord] = TypeAdapter(CompactRecord)

Rows = Mapping[int, Mapping[str, int]]
"""Episode -> table -> rows, of the episodes whose files could be read."""


def check_compact_record(
    chain: ChainListing, records: Sequence[Record], data: bytes | Unreadable
) -> tuple[CompactRecord | None, list[Finding]]:
    """The record of the flat tables, and what is wrong with it; None where it cannot be used."""
    path = chain.path("compact/compact.json")
    try:
        fields, record = as_record(_RECORD, data)
    except ValueError as error:
        return None, [repairable_damage(Kind.TABLES_DAMAGED, path, f"damaged ({error})")]
    covered = {one.commit.episode: one.commit.sha256 for one in records}
    last = max(covered, default=-1)
    if record.episodes > last + 1 and record.last_commit != covered.get(last):
        what = f"missing: {path} covers {record.episodes} episodes, but {last + 1} have a commit record"
        return None, [damage(Kind.COMMIT_GAP, chain.path(f"commits/{last + 1:05d}.json"), what)]
    wrong = _wrong_fields(fields.keys(), record, covered)
    return (None, [repairable_damage(Kind.TABLES_DAMAGED, path, wrong)]) if wrong else (record, [])


def _wrong_fields(names: object, record: CompactRecord, covered: Mapping[int, str]) -> str:
    if names != {"episodes", "last_commit", "tables", "sha256"}:
        return "damaged (has other fields than were written)"
    if record.episodes < 1 or covered.get(record.episodes - 1) != record.last_commit:
        return f"is not about the first {record.episodes} episodes that are committed now"
    if not record.tables.keys() == record.sha256.keys() == TABLES.keys():
        return "does not name every table once"
    return ""


def missing_tables(chain: ChainListing, record: CompactRecord) -> list[Finding]:
    """Tables that the record names and the listing does not have."""
    return [
        repairable_damage(Kind.TABLES_DAMAGED, chain.path(f"compact/{file}"), "missing")
        for file in record.tables.values()
        if file not in chain.tables
    ]


def check_table(
    chain: ChainListing, record: CompactRecord, table: str, data: bytes | Unreadable, rows: Rows
) -> list[Finding]:
    """One flat table: its hash, its columns, and that it has every row of every episode once."""
    path = chain.path(f"compact/{record.tables[table]}")
    wrong = _wrong_table(record, table, data, rows)
    return [repairable_damage(Kind.TABLES_DAMAGED, path, wrong)] if wrong else []


def _wrong_table(record: CompactRecord, table: str, data: bytes | Unreadable, rows: Rows) -> str:
    if isinstance(data, Unreadable):
        return f"cannot be read: {data.reason}"
    if disk.digest(data) != record.sha256[table]:
        return "damaged (its hash is not the recorded one)"
    try:
        if _names(data) != flat_schema(table).names:
            return "has other columns than the schema"
        counted = Counter(disk.read_parquet(data, ["episode"])["episode"].to_pylist())
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        return f"cannot be read: {error}"
    known = {episode: parts[table] for episode, parts in rows.items() if episode < record.episodes}
    strange = set(counted) - set(range(record.episodes))
    if strange or any(counted[episode] != number for episode, number in known.items()):
        return "does not have the rows of every committed episode once"
    return ""


def _names(data: bytes) -> list[str]:
    names: list[str] = pq.read_schema(pa.BufferReader(data)).names
    return names
