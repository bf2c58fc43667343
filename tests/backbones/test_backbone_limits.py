"""The rate limiter, on a clock that moves only when somebody sleeps."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backbones.limits import WINDOW, RateLimiter, SlidingWindow, estimated_tokens
from ocm.types import Message, Request


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def limiter(clock: Clock, requests: int | None, tokens: int | None = None) -> RateLimiter:
    return RateLimiter(requests, tokens, sleep=clock.sleep, clock=clock)


def admitted(requests: int | None, tokens: int | None, wanted: list[int]) -> list[tuple[float, int]]:
    """(time, tokens) of all requests, asked for at once, in the order of admission."""
    clock = Clock()
    limits = limiter(clock, requests, tokens)
    entered: list[tuple[float, int]] = []

    async def one(size: int) -> None:
        await limits.acquire(size)
        entered.append((clock.now, size))

    async def everyone() -> None:
        await asyncio.gather(*[one(size) for size in wanted])

    asyncio.run(everyone())
    return entered


@given(st.integers(1, 5), st.integers(1, 100), st.lists(st.integers(0, 100), max_size=20))
def test_no_window_holds_more_than_the_limits(requests: int, tokens: int, wanted: list[int]) -> None:
    entered = admitted(requests, tokens, wanted)
    assert [size for _, size in entered] == wanted  # first come, first served
    for start, _ in entered:
        window = [size for at, size in entered if start <= at < start + WINDOW - 1e-6]
        assert len(window) <= requests
        assert sum(window) <= tokens or len([size for size in window if size]) == 1


def test_a_burst_goes_at_once_and_the_next_one_waits() -> None:
    times = [at - 1000.0 for at, _ in admitted(3, None, [1] * 7)]
    assert times == pytest.approx([0, 0, 0, 60, 60, 60, 120])


def test_a_request_larger_than_the_limit_goes_alone() -> None:
    assert [at - 1000.0 for at, _ in admitted(None, 10, [500, 5])] == pytest.approx([0, 60])


def test_settling_frees_what_was_estimated_too_high() -> None:
    async def scenario() -> tuple[float, float]:
        clock = Clock()
        limits = limiter(clock, None, 1000)
        entry = await limits.acquire(900)
        waiting = asyncio.create_task(limits.acquire(900))
        await asyncio.sleep(0)
        limits.settle(entry, 50)
        await waiting
        return 1000.0, clock.now

    started, ended = asyncio.run(scenario())
    assert ended - started <= 2.0


def test_settling_too_low_holds_others_back() -> None:
    window = SlidingWindow(None, 100)
    entry = window.enter(0.0, 10)
    assert window.wait(1.0, 50) == 0
    window.settle(entry, 90)
    assert window.wait(1.0, 50) == pytest.approx(59.0)


def test_settling_after_the_window_changes_nothing() -> None:
    window = SlidingWindow(None, 100)
    entry = window.enter(0.0, 10)
    window.enter(50.0, 10)
    assert window.wait(61.0, 90) == 0
    window.settle(entry, 90)
    assert window.wait(61.0, 90) == 0


def test_without_limits_nobody_waits() -> None:
    assert {at for at, _ in admitted(None, None, [10**9] * 50)} == {1000.0}


def test_a_cancelled_waiter_lets_the_next_one_go() -> None:
    async def scenario() -> float:
        clock = Clock()
        limits = limiter(clock, 1)
        await limits.acquire(0)
        tasks = [asyncio.create_task(limits.acquire(0)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[1].cancel()
        await tasks[2]
        return clock.now

    assert asyncio.run(scenario()) == pytest.approx(1060.0, abs=2)


def test_the_estimate_counts_the_longest_reply() -> None:
    request = Request("act", (Message("user", "x" * 400), Message("user", "y" * 40)))
    assert estimated_tokens(request, 100) == 210
    assert estimated_tokens(request, None) == 110
