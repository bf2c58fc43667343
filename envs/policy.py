"""Which host goes to whom: the pool's decisions as one pure function.

A host is for one kind: one environment with one set of settings. Whoever waits gets, in this order, a
warm host of its kind, a new one where the limits leave room, or the room of idle hosts of other kinds.

Waiters of one kind are served in the order in which they came. Of another kind, a later one may go first
where an earlier one cannot be served at once, since ending a warm host for each change of turns would
cost a simulator's start per episode; it may do so :data:`OVERTAKEN_AT_MOST` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

OVERTAKEN_AT_MOST = 8


class Kind(NamedTuple):
    """What a host is for."""

    key: str
    """Equal for the same environment with the same settings."""
    memory_mb: float
    """What one host of it needs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many hosts there may be at once."""

    hosts: int
    memory_mb: float
    """Of all hosts together."""
    nodes_mb: tuple[float, ...]
    """What each machine offers; a host lies on one of them."""

    @property
    def largest_mb(self) -> float:
        """The most that a single host may need."""
        return min(self.memory_mb, max(self.nodes_mb, default=0.0))

    def leave_room(self, kind: Kind, live: Sequence[Kind]) -> bool:
        """Whether one more host fits beside the live ones.

        On several machines it fits for certain: if it fitted on none, more would be in use than all of
        them can hold without room for it.
        """
        used = sum(one.memory_mb for one in live)
        beside = sum(node - kind.memory_mb for node in self.nodes_mb if node >= kind.memory_mb)
        return (
            kind.memory_mb <= self.largest_mb
            and len(live) < self.hosts
            and used + kind.memory_mb <= self.memory_mb
            and used <= beside
        )


class Waiter(NamedTuple):
    """Somebody who waits for a host."""

    kind: Kind
    overtaken: int = 0
    """How often a later one was served first."""


@dataclass(frozen=True, slots=True)
class State:
    """All hosts and all waiters."""

    waiting: tuple[Waiter, ...] = ()
    """In the order in which they came."""
    idle: tuple[Kind, ...] = ()
    """The one that has been idle longest is first."""
    leased: tuple[Kind, ...] = ()
    ending: tuple[Kind, ...] = ()
    """On their way out: they still hold their memory."""
    free_mb: float = float("inf")
    """What the machine can give to a new host now, whatever the limits allow."""

    @property
    def live(self) -> tuple[Kind, ...]:
        """All that hold memory."""
        return self.idle + self.leased + self.ending


class Give(NamedTuple):
    """The waiter gets this idle host."""

    waiter: int
    idle: int


class Start(NamedTuple):
    """The waiter gets a new host."""

    waiter: int


class End(NamedTuple):
    """This idle host makes room for the first waiter."""

    idle: int


Move = Give | Start | End


def next_move(state: State, limits: Limits) -> Move | None:
    """What to do now; None: wait until a host is given back or has ended, or memory is free again."""
    for index, waiter in enumerate(state.waiting):
        warm = [at for at, kind in enumerate(state.idle) if kind == waiter.kind]
        if warm:
            return Give(index, warm[-1])
        if waiter.kind.memory_mb <= state.free_mb and limits.leave_room(waiter.kind, state.live):
            return Start(index)
        if waiter.overtaken >= OVERTAKEN_AT_MOST:
            break
    return _make_room(state, limits)


def _make_room(state: State, limits: Limits) -> End | None:
    """End the longest idle host, if that helps the first waiter and those on their way out do not.

    Where nobody plays and nothing is on its way out, it is of no use to anyone, and may free more than
    it was thought to take.
    """
    if not state.waiting or not state.idle:
        return None
    first = state.waiting[0].kind

    def fits_without(gone: tuple[Kind, ...], live: tuple[Kind, ...]) -> bool:
        free = state.free_mb + sum(kind.memory_mb for kind in gone)
        return first.memory_mb <= free and limits.leave_room(first, live)

    if fits_without(state.ending, state.idle + state.leased):
        return None
    alone = not (state.leased or state.ending)
    return End(0) if alone or fits_without(state.ending + state.idle, state.leased) else None


def is_stuck(state: State) -> bool:
    """Whether somebody waits though no host lives that could be given back: only free memory helps."""
    return bool(state.waiting) and not state.live
