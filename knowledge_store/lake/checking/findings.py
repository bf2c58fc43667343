"""What is wrong with a lake, as data: what, where, how bad, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_store.lake.commits import RESTORE


class Severity(StrEnum):
    """How bad a finding is."""

    DAMAGE = "damage"
    """Committed data is lost or wrong."""
    UNFINISHED = "unfinished"
    """Left by a kill; harmless."""
    NOTE = "note"
    """Worth knowing."""


class Kind(StrEnum):
    """Everything that a check can find."""

    LAKE_MISSING = "lake.json missing"
    LAKE_DAMAGED = "lake.json damaged"
    SCHEMA_OTHER = "other schema"
    MANIFEST_MISSING = "manifest missing"
    MANIFEST_DAMAGED = "manifest damaged"
    MANIFEST_CHAIN = "manifest names a chain by another id than its key's"
    IDENTITY_MISSING = "chain.json missing"
    IDENTITY_DAMAGED = "chain.json damaged"
    IDENTITY_OTHER = "chain.json of another place"
    COMMIT_GAP = "commit record missing"
    COMMIT_DAMAGED = "commit record damaged"
    COMMIT_PLACE = "commit record of another place"
    COMMIT_ORDER = "commit record does not follow"
    COMMIT_SHARED = "two commit records, one episode file"
    COMMIT_WRONG = "commit record disagrees with its episode"
    EPISODE_MISSING = "episode file missing"
    EPISODE_DAMAGED = "episode file damaged"
    EPISODE_PLACE = "episode file of another place"
    EPISODE_TEXTS = "texts do not have their hashes"
    MEMORY_WRONG = "memory does not have its hash"
    TABLES_DAMAGED = "flat tables damaged"
    TABLES_BEHIND = "flat tables behind"
    ORPHAN = "episode file that no record names"
    TABLE_ORPHAN = "flat table that no record names"
    TEMPORARY = "temporary file"
    JOURNAL_DONE = "journal of a committed episode"
    JOURNAL_OPEN = "journal of an episode under way"
    JOURNAL_AHEAD = "journal of an episode that cannot have begun"
    JOURNAL_TORN = "journal with a torn end"
    JOURNAL_DAMAGED = "journal damaged"
    LEASE_DEAD = "lease of a process that has ended"
    LEASE_HELD = "lease held"
    LEASE_DAMAGED = "lease damaged"
    NOT_BEGUN = "folder of a chain that never began"
    UNPLANNED_CHAIN = "chain that the manifest does not name"
    UNPLANNED_EPISODES = "more episodes than planned"
    UNKNOWN = "unknown file"


RERUN = "give `ocm run` again"
REPAIR = "`ocm repair` mends it"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    severity: Severity
    kind: Kind
    path: str
    """Relative to the storage root, with ``/``."""
    what: str
    mend: str
    repairable: bool = False
    """Whether ``ocm repair`` mends it."""


def damage(kind: Kind, path: str, what: str, mend: str = RESTORE) -> Finding:
    """A finding about committed data."""
    return Finding(Severity.DAMAGE, kind, path, what, mend)


def repairable_damage(kind: Kind, path: str, what: str) -> Finding:
    """Damage of what can be made again."""
    return Finding(Severity.DAMAGE, kind, path, what, REPAIR, repairable=True)


def leftover(kind: Kind, path: str, what: str) -> Finding:
    """What a kill left and ``ocm repair`` clears."""
    return Finding(Severity.UNFINISHED, kind, path, what, REPAIR, repairable=True)


def unfinished(kind: Kind, path: str, what: str, mend: str = RERUN) -> Finding:
    """What a kill left and the next run deals with."""
    return Finding(Severity.UNFINISHED, kind, path, what, mend)


def note(kind: Kind, path: str, what: str, mend: str) -> Finding:
    """Something worth knowing."""
    return Finding(Severity.NOTE, kind, path, what, mend)


@dataclass(frozen=True, slots=True)
class Place:
    """What a group of findings is about: a chain, a sweep (no chain) or the root (neither)."""

    sweep: str = ""
    chain: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found."""

    root: str
    sweeps: int
    chains: int
    episodes: int
    """Commit records that were checked."""
    quick: bool
    findings: tuple[tuple[Place, Finding], ...]

    @property
    def damaged(self) -> bool:
        return any(finding.severity is Severity.DAMAGE for _, finding in self.findings)

    @property
    def counts(self) -> Counter[Severity]:
        return Counter(finding.severity for _, finding in self.findings)

    def by_place(self) -> list[tuple[Place, Sequence[Finding]]]:
        """The findings of each place, worst place and worst finding first."""
        groups: dict[Place, list[Finding]] = {}
        for place, finding in self.findings:
            groups.setdefault(place, []).append(finding)
        ordered = [(place, sorted(group, key=_badness)) for place, group in groups.items()]
        return sorted(ordered, key=lambda group: (_badness(group[1][0])[0], group[0].sweep, group[0].chain))


_ORDER = list(Severity)


def _badness(finding: Finding) -> tuple[int, str, str]:
    return _ORDER.index(finding.severity), finding.path, finding.kind


def none_repairable(findings: Iterable[Finding], why: str) -> list[Finding]:
    """The findings, none of them to be mended by ``ocm repair``."""
    return [
        Finding(one.severity, one.kind, one.path, one.what, why if one.repairable else one.mend)
        for one in findings
    ]
