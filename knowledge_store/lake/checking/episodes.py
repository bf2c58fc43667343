"""An episode file against its commit record: every hash and every field. Pure functions of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from knowledge_store.lake import disk
from knowledge_store.lake.checking.findings import Finding, Kind, damage
from knowledge_store.lake.checking.layout import ChainListing
from knowledge_store.lake.checking.records import Record
from knowledge_store.lake.checking.source import Unreadable
from knowledge_store.lake.commits import Hashes, fold, hashes_hash
from knowledge_store.lake.restore import from_row
from knowledge_store.lake.schema import NESTED, episode_schema
from knowledge_store.lake.text import unescape
from knowledge_store.lake.writer import describe
from ocm.identity import chain_id, sha256
from ocm.types import Episode

_UNDECODABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What decoding bytes may raise that were never an episode."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What an episode file turned out to be."""

    findings: list[Finding]
    rows: Mapping[str, int] = field(default_factory=dict)
    """Table -> rows of this episode; empty where the file cannot be used."""


def check_size(chain: ChainListing, record: Record) -> list[Finding]:
    """What the listing alone says about the file that a record names."""
    size = chain.episodes.get(record.commit.file)
    path = chain.path(f"episodes/{record.commit.file}")
    if size is None:
        return [damage(Kind.EPISODE_MISSING, path, "missing, though it was committed")]
    return [] if size == record.commit.file_bytes else [_cut(path, record, size)]


def check_episode(
    chain: ChainListing, record: Record, data: bytes | Unreadable, before: Hashes | None
) -> Checked:
    """Everything about one episode; ``before`` is the memory before it, None where it is not known."""
    path = chain.path(f"episodes/{record.commit.file}")
    if isinstance(data, Unreadable):
        return Checked([damage(Kind.EPISODE_DAMAGED, path, f"cannot be read: {data.reason}")])
    if len(data) != record.commit.file_bytes:
        return Checked([_cut(path, record, len(data))])
    if disk.digest(data) != record.commit.file_sha256:
        return Checked([damage(Kind.EPISODE_DAMAGED, path, "damaged (its hash is not the committed one)")])
    try:
        row = _row(data)
        episode = from_row(row)
    except _UNDECODABLE as error:
        what = f"holds no episode ({type(error).__name__}: {error})"
        return Checked([damage(Kind.EPISODE_DAMAGED, path, what)])
    findings = [
        *_place(chain, record, path, episode),
        *_texts(path, row),
        *_memory(path, row, episode, before),
        *_described(record, episode, data, before),
    ]
    return Checked(findings, {"episodes": 1, **{table: len(row[table]) for table in NESTED}})


def _row(data: bytes) -> dict[str, Any]:
    table = disk.read_parquet(data)
    if table.num_rows != 1 or table.schema.names != episode_schema().names:
        raise ValueError(f"{table.num_rows} rows with {table.num_columns} columns")
    row: dict[str, Any] = table.to_pylist()[0]
    return unescape(row) if row["escaped"] else row


def _cut(path: str, record: Record, size: int) -> Finding:
    what = f"damaged ({size} bytes, {record.commit.file_bytes} were committed)"
    return damage(Kind.EPISODE_DAMAGED, path, what)


def _place(chain: ChainListing, record: Record, path: str, episode: Episode) -> list[Finding]:
    found = (episode.sweep, episode.chain, episode.index)
    if found != (chain.sweep, chain.chain, record.commit.episode):
        what = f"holds episode {episode.index} of {episode.sweep}/{episode.chain}"
        return [damage(Kind.EPISODE_PLACE, path, what)]
    if chain_id(episode.key) != chain.chain:
        return [damage(Kind.EPISODE_PLACE, path, f"its key is that of {chain_id(episode.key)}")]
    return []


def _texts(path: str, row: Mapping[str, Any]) -> list[Finding]:
    contents = [(text["sha256"], text["content"]) for text in row["texts"]]
    contents += [(one["sha256"], one["content"]) for one in row["memory"] if one["content"] is not None]
    wrong = sum(sha256(content) != known for known, content in contents)
    what = f"{wrong} of {len(contents)} texts do not have the hash that they are kept under"
    return [damage(Kind.EPISODE_TEXTS, path, what)] if wrong else []


def _memory(path: str, row: Mapping[str, Any], episode: Episode, before: Hashes | None) -> list[Finding]:
    if before is None:
        return []
    delta = {one["path"]: one["sha256"] for one in row["memory"]}
    findings = []
    for name, hashes, found in (
        ("memory_before", before, episode.memory_before),
        ("memory_after", fold(before, delta), episode.memory_after),
    ):
        if hashes_hash(hashes) != found:
            what = f"{name} is not the memory that the episodes up to it give"
            findings.append(damage(Kind.MEMORY_WRONG, path, what))
    return findings


def _described(record: Record, episode: Episode, data: bytes, before: Hashes | None) -> list[Finding]:
    """The record is a function of its episode: made again, it must be the same."""
    commit = record.commit
    after = fold(before or {}, commit.memory_delta)
    expected = asdict(describe(episode, commit.file, data, commit.previous, after))
    del expected["sha256"]
    if before is None:  # then the memory's hash cannot be told
        expected["memory_sha256"] = commit.memory_sha256
    names = sorted(
        name for name in expected.keys() | record.fields.keys() if _differs(name, record, expected)
    )
    what = f"its {', '.join(names)} {'is' if len(names) == 1 else 'are'} not what the episode file says"
    return [damage(Kind.COMMIT_WRONG, record.path, what)] if names else []


def _differs(name: str, record: Record, expected: Mapping[str, Any]) -> bool:
    return name not in record.fields or name not in expected or record.fields[name] != expected[name]
