"""Who plays here: what is being written is no finding, and what a dead process left is one."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from knowledge_store.lake.checking.findings import Finding, Kind, leftover, note, unfinished
from knowledge_store.lake.checking.records import as_plain
from knowledge_store.lake.checking.source import Source, Unreadable
from knowledge_store.lake.holders import Holder, machine, process_start


@dataclass(frozen=True, slots=True)
class _Lease:
    holder: Holder
    taken_at: float
    given_back: bool


_LEASE: TypeAdapter[_Lease] = TypeAdapter(_Lease)


@dataclass(frozen=True, slots=True)
class Held:
    """What the leases of a folder say."""

    living: bool = False
    """Whether somebody may be writing here at this moment."""
    findings: tuple[Finding, ...] = ()


def check_leases(source: Source, paths: tuple[str, ...]) -> Held:
    """The lease that counts is the last; one that was given back is no finding.

    Nobody waits here: a holder on another machine that is present in the storage root counts as living.
    """
    if not paths:
        return Held()
    path = max(paths, key=lambda one: (len(one), one))
    data = source.read(path)
    try:
        lease = as_plain(_LEASE, data)
    except ValueError as error:
        mend = "delete it if nothing is being played here"
        return Held(False, (unfinished(Kind.LEASE_DAMAGED, path, f"damaged ({error})", mend),))
    if lease.given_back:
        return Held()
    if source.local is None:
        what = f"held by {lease.holder} when the copy was made"
        return Held(False, (note(Kind.LEASE_HELD, path, what, "nothing is to be done"),))
    if _may_live(source, lease.holder):
        what = f"held by {lease.holder}: what it is writing is not looked at"
        return Held(True, (note(Kind.LEASE_HELD, path, what, "check again when it has ended"),))
    return Held(False, (leftover(Kind.LEASE_DEAD, path, f"{lease.holder} ended without giving it back"),))


def _may_live(source: Source, holder: Holder) -> bool:
    if holder.machine == machine():
        return process_start(holder.pid) == holder.started
    return not isinstance(source.read(f".holders/{holder.id}.json"), Unreadable)
