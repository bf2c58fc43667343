"""The pool's decisions: bounds, warm hosts first, nobody waits for ever."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.policy import (
    OVERTAKEN_AT_MOST,
    End,
    Give,
    Kind,
    Limits,
    Move,
    Start,
    State,
    Waiter,
    is_stuck,
    next_move,
)

A, B, BIG = Kind("a", 100), Kind("b", 150), Kind("big", 550)
FOUR = Limits(4, 10_000, (10_000,))
EPISODES = 4


def waiting(*kinds: Kind) -> tuple[Waiter, ...]:
    return tuple(map(Waiter, kinds))


def test_a_warm_host_is_given_before_one_is_started() -> None:
    assert next_move(State(waiting(A), idle=(B, A, A)), FOUR) == Give(0, 2)
    assert next_move(State(waiting(A), idle=(B,)), FOUR) == Start(0)
    assert next_move(State(idle=(A,)), FOUR) is None


def test_an_idle_host_of_another_kind_makes_room_when_all_places_are_taken() -> None:
    full = State(waiting(A), idle=(B, BIG), leased=(A, A))
    assert next_move(full, FOUR) == End(0)
    assert next_move(replace(full, idle=(BIG,), ending=(B,)), FOUR) is None
    assert next_move(replace(full, idle=(BIG,)), FOUR) == Start(0)


def test_no_host_is_ended_in_vain() -> None:
    small = Limits(8, 700, (700,))
    assert next_move(State(waiting(BIG), idle=(A,), leased=(A, B)), small) is None
    assert next_move(State(waiting(BIG), idle=(A, A), leased=(B,)), small) == End(0)


def test_short_memory_starts_nothing_and_ends_what_idles() -> None:
    assert next_move(State(waiting(BIG), leased=(A,), free_mb=500), FOUR) is None
    assert next_move(State(waiting(BIG), idle=(A,), free_mb=500), FOUR) == End(0)
    short = State(waiting(BIG), free_mb=500)
    assert next_move(short, FOUR) is None and is_stuck(short)
    assert next_move(State(waiting(BIG), idle=(BIG,), free_mb=0), FOUR) == Give(0, 0)


def test_where_nobody_plays_idle_hosts_end_for_a_waiter_that_memory_is_too_short_for() -> None:
    """They were kept where their memory alone was not enough, and the waiter was never told."""
    short = State(waiting(BIG), idle=(A,), free_mb=100)
    assert next_move(short, FOUR) == End(0)
    assert next_move(replace(short, idle=(B,), ending=(A,)), FOUR) is None
    assert next_move(replace(short, leased=(A,)), FOUR) is None
    assert is_stuck(replace(short, idle=()))


def test_a_later_one_of_another_kind_goes_first_a_bounded_number_of_times() -> None:
    full = State((Waiter(A), Waiter(B)), idle=(B,), leased=(B, B, B))
    assert next_move(full, FOUR) == Give(1, 0)
    patient = replace(full, waiting=(Waiter(A, OVERTAKEN_AT_MOST), Waiter(B)))
    assert next_move(patient, FOUR) == End(0)


@pytest.mark.parametrize(
    ("nodes", "live", "fits"),
    [((600, 600), (), True), ((600, 600), (A, A), False), ((500, 500), (), False), ((1200,), (BIG,), True)],
)
def test_a_host_is_only_asked_for_where_some_machine_has_room_however_the_others_lie(
    nodes: tuple[float, ...], live: tuple[Kind, ...], fits: bool
) -> None:
    assert Limits(9, 10_000, nodes).leave_room(BIG, live) is fits


# --- any course of events ----------------------------------------------------------------------


@dataclass
class Play:
    """Chains that play episodes on hosts, each with its own kind, as the pool would serve them."""

    limits: Limits
    state: State = field(default_factory=State)
    names: list[int] = field(default_factory=list)
    """Who waits, beside ``state.waiting``."""
    playing: dict[int, Kind] = field(default_factory=dict)
    served: list[int] = field(default_factory=list)

    def come(self, name: int, kind: Kind) -> None:
        self.state = replace(self.state, waiting=(*self.state.waiting, Waiter(kind)))
        self.names.append(name)

    def leave(self, name: int, sound: bool) -> None:
        kind = self.playing.pop(name)
        leased = _without(self.state.leased, self.state.leased.index(kind))
        place = {"idle": (*self.state.idle, kind)} if sound else {"ending": (*self.state.ending, kind)}
        self.state = replace(self.state, leased=leased, **place)

    def settle(self) -> None:
        while move := next_move(self.state, self.limits):
            self.apply(move)
            self.check()

    def apply(self, move: Move) -> None:
        state = self.state
        if isinstance(move, End):
            ended = state.idle[move.idle]
            self.state = replace(state, idle=_without(state.idle, move.idle), ending=(*state.ending, ended))
            return
        waiter = state.waiting[move.waiter]
        same_kind_before = [one for one in state.waiting[: move.waiter] if one.kind == waiter.kind]
        assert not same_kind_before, "an earlier one of the same kind was passed over"
        if isinstance(move, Give):
            assert state.idle[move.idle] == waiter.kind
            state = replace(state, idle=_without(state.idle, move.idle))
        else:
            assert waiter.kind not in state.idle, "a warm host was left idle"
        passed = tuple(one._replace(overtaken=one.overtaken + 1) for one in state.waiting[: move.waiter])
        self.state = replace(
            state,
            waiting=passed + state.waiting[move.waiter + 1 :],
            leased=(*state.leased, waiter.kind),
        )
        name = self.names.pop(move.waiter)
        self.playing[name] = waiter.kind
        self.served.append(name)

    def check(self) -> None:
        live = self.state.live
        assert len(live) <= self.limits.hosts
        assert sum(kind.memory_mb for kind in live) <= self.limits.memory_mb
        assert all(waiter.overtaken <= OVERTAKEN_AT_MOST for waiter in self.state.waiting)


def _without(kinds: tuple[Kind, ...], index: int) -> tuple[Kind, ...]:
    return kinds[:index] + kinds[index + 1 :]


@settings(max_examples=100, deadline=None)
@given(
    hosts=st.integers(1, 6),
    nodes=st.lists(st.integers(550, 2000), min_size=1, max_size=3),
    share=st.floats(0.3, 1.0),
    chains=st.lists(st.sampled_from([A, B, BIG]), min_size=1, max_size=12),
    draws=st.randoms(use_true_random=False),
)
def test_any_chains_finish_within_the_limits(
    hosts: int, nodes: list[int], share: float, chains: list[Kind], draws: random.Random
) -> None:
    limits = Limits(hosts, max(550.0, share * sum(nodes)), tuple(map(float, nodes)))
    owed = dict.fromkeys(range(len(chains)), EPISODES)
    play = Play(limits)
    for name, kind in enumerate(chains):
        play.come(name, kind)
    for _ in range(10_000):
        play.settle()
        if not play.playing and not play.names:
            break
        assert play.playing or play.state.ending, f"nobody moves: {play.state}"
        if play.state.ending and (not play.playing or draws.random() < 0.5):
            play.state = replace(play.state, ending=play.state.ending[1:])
            continue
        name = draws.choice(sorted(play.playing))
        owed[name] -= 1
        play.leave(name, sound=draws.random() < 0.9)
        if owed[name]:
            play.come(name, chains[name])
    assert not any(owed.values())
    assert len(play.served) == EPISODES * len(chains)


@settings(max_examples=100, deadline=None)
@given(live=st.lists(st.sampled_from([A, B, BIG]), max_size=12), draws=st.randoms(use_true_random=False))
def test_what_fits_is_placed_on_some_machine_wherever_the_others_are(
    live: list[Kind], draws: random.Random
) -> None:
    nodes = (700.0, 900.0, 1300.0)
    limits = Limits(99, sum(nodes), nodes)
    free = list(nodes)
    placed: list[Kind] = []
    for kind in live:
        room = [at for at, mb in enumerate(free) if mb >= kind.memory_mb]
        if limits.leave_room(kind, placed):
            assert room
        if room:
            free[draws.choice(room)] -= kind.memory_mb
            placed.append(kind)
