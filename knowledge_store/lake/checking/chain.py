"""One chain: everything that is wrong with it, or left over in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from knowledge_store.lake.checking import episodes, tables
from knowledge_store.lake.checking.findings import (
    Finding,
    Kind,
    Severity,
    leftover,
    none_repairable,
    note,
    unfinished,
)
from knowledge_store.lake.checking.journals import check_journals
from knowledge_store.lake.checking.layout import ChainListing, sort_chain
from knowledge_store.lake.checking.leases import check_leases
from knowledge_store.lake.checking.records import Record, check_identity, check_records, memories
from knowledge_store.lake.checking.source import Source
from knowledge_store.lake.files import CompactRecord

_LOOKS = 3
"""How often a chain is looked at that has findings and changes meanwhile."""
_EPISODES_FIRST = "mend the episodes first, from which the tables are made; then `ocm repair`"

Told = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a chain is to be checked."""

    planned: int | None = None
    """Episodes, by the manifest; None where it does not say."""
    named: bool = True
    """Whether the manifest names the chain, or there is none to ask."""
    quick: bool = False
    """Whether no Parquet file is read."""
    ours: bool = False
    """Whether the caller holds the chain's lease."""


def check_chain(source: Source, chain: ChainListing, wanted: Wanted, told: Told) -> list[Finding]:
    """What is wrong with a chain.

    A chain may be played meanwhile, and its files are not listed in one instant. So where there is a
    finding and the folder has changed, it is looked at again, and what was seen each time counts.
    """
    findings = _look(source, chain, wanted, told)
    for _ in range(_LOOKS):
        again = relist(source, chain) if findings else chain
        if again == chain:
            break
        seen = {(finding.kind, finding.path) for finding in findings}
        chain, findings = again, _look(source, again, wanted, lambda: None)
        findings = [finding for finding in findings if (finding.kind, finding.path) in seen]
    return findings


def relist(source: Source, chain: ChainListing) -> ChainListing:
    """The chain's folder as it is now."""
    files = source.listing(chain.folder, recursive=True)
    skipped = len(chain.folder) + 1
    return sort_chain(chain.sweep, chain.chain, {path[skipped:]: size for path, size in files.items()})


def _look(source: Source, chain: ChainListing, wanted: Wanted, told: Told) -> list[Finding]:
    leases = () if wanted.ours else tuple(chain.path(lease) for lease in chain.leases)
    held = check_leases(source, leases)
    findings = _findings(source, chain, wanted, told)
    if held.living:
        findings = [finding for finding in findings if finding.severity is Severity.DAMAGE]
    return [*held.findings, *findings]


def _findings(source: Source, chain: ChainListing, wanted: Wanted, told: Told) -> list[Finding]:
    begun = chain.records or chain.episodes
    if not chain.identity and not begun:
        return [unfinished(Kind.NOT_BEGUN, chain.folder, "was made, and then nothing"), *_strange(chain)]
    identity = source.read(chain.path("chain.json")) if chain.identity else None
    read = dict(
        zip(
            chain.records,
            source.read_each([chain.path(one) for one in chain.records.values()]),
            strict=True,
        )
    )
    records, committed = check_records(chain, read)
    before, wrong = memories(records)
    done = max(chain.records, default=-1) + 1
    rows, of_episodes = _check_episodes(source, chain, records, before, wanted, told)
    committed += [
        *check_identity(chain, identity),
        *wrong,
        *of_episodes,
        *_journals(source, chain, done, wanted),
    ]
    flat = _check_tables(source, chain, records, rows, wanted)
    whole = not any(_is_lasting(finding) for finding in [*committed, *flat])
    return [
        *committed,
        *(flat if whole else none_repairable(flat, _EPISODES_FIRST)),
        *_orphans(chain, records, whole),
        *_strange(chain),
        *_plan(chain, done, wanted),
    ]


def _check_episodes(
    source: Source,
    chain: ChainListing,
    records: Sequence[Record],
    before: Mapping[int, Mapping[str, str]],
    wanted: Wanted,
    told: Told,
) -> tuple[dict[int, Mapping[str, int]], list[Finding]]:
    rows: dict[int, Mapping[str, int]] = {}
    findings: list[Finding] = []
    there = []
    for record in records:
        by_size = episodes.check_size(chain, record)
        findings += by_size
        there += [] if by_size else [record]
        if by_size or wanted.quick:
            told()
    if wanted.quick:
        return rows, findings
    files = source.read_each([chain.path(f"episodes/{record.commit.file}") for record in there])
    for record, data in zip(there, files, strict=True):
        known = before.get(record.commit.episode)
        checked = episodes.check_episode(chain, record, data, None if known is None else dict(known))
        findings += checked.findings
        if checked.rows:
            rows[record.commit.episode] = checked.rows
        told()
    return rows, findings


def _journals(source: Source, chain: ChainListing, done: int, wanted: Wanted) -> list[Finding]:
    current = {
        index: source.read(chain.path(inside)) for index, inside in chain.journals.items() if index == done
    }
    return check_journals(chain, done, wanted.planned, current)


def _check_tables(
    source: Source, chain: ChainListing, records: Sequence[Record], rows: tables.Rows, wanted: Wanted
) -> list[Finding]:
    record: CompactRecord | None = None
    findings: list[Finding] = []
    if chain.compact_record:
        data = source.read(chain.path("compact/compact.json"))
        record, findings = tables.check_compact_record(chain, records, data)
    if record is not None:
        findings = tables.missing_tables(chain, record)
        present = [table for table, file in record.tables.items() if file in chain.tables]
        files = source.read_each([chain.path(f"compact/{record.tables[table]}") for table in present])
        for table, content in () if wanted.quick else zip(present, files, strict=True):
            findings += tables.check_table(chain, record, table, content, rows)
    if findings:
        return findings
    named = set(record.tables.values()) if record else set()
    return [*_stray_tables(chain, named), *_behind(chain, record, len(records), wanted)]


def _stray_tables(chain: ChainListing, named: set[str]) -> list[Finding]:
    return [
        leftover(Kind.TABLE_ORPHAN, chain.path(f"compact/{file}"), "no record names it")
        for file in chain.tables
        if file not in named
    ]


def _behind(chain: ChainListing, record: CompactRecord | None, done: int, wanted: Wanted) -> list[Finding]:
    covered = record.episodes if record else 0
    if wanted.planned is None or done < wanted.planned or covered >= done:
        return []
    what = f"the chain is finished, and its flat tables cover {covered} of {done} episodes"
    return [leftover(Kind.TABLES_BEHIND, chain.path("compact"), what)]


def _is_lasting(finding: Finding) -> bool:
    return finding.severity is Severity.DAMAGE and not finding.repairable


def _orphans(chain: ChainListing, records: Sequence[Record], whole: bool) -> list[Finding]:
    """Where a record is damaged or missing, any file may be the one that it named."""
    named = {record.commit.file for record in records}
    found = [
        leftover(Kind.ORPHAN, chain.path(f"episodes/{file}"), "no commit record names it")
        for file in chain.episodes
        if file not in named
    ]
    why = "keep it: it may belong to a record that is damaged or missing"
    return found if whole else none_repairable(found, why)


def _strange(chain: ChainListing) -> list[Finding]:
    return [
        *(leftover(Kind.TEMPORARY, chain.path(one), "a kill left it") for one in chain.temporary),
        *(
            note(Kind.UNKNOWN, chain.path(one), "is no part of a chain", "move it away if it is not yours")
            for one in chain.unknown
        ),
    ]


def _plan(chain: ChainListing, done: int, wanted: Wanted) -> list[Finding]:
    left_out = "results leave it out; nothing is to be done"
    if not wanted.named:
        return [note(Kind.UNPLANNED_CHAIN, chain.folder, "the manifest does not name it", left_out)]
    if wanted.planned is not None and done > wanted.planned:
        what = f"{done} episodes are committed, {wanted.planned} are planned"
        return [note(Kind.UNPLANNED_EPISODES, chain.folder, what, "results leave the others out")]
    return []
