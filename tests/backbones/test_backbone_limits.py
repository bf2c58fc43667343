"""The rate limiter in one process, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backbones.limits import WINDOW, Entry, RateLimiter, estimated_tokens, window_path
from backbones.rate_headers import Allowance, Hints
from ocm.spec import OpenAIBackbone
from ocm.types import Message, Request
from tests.backbones.virtual_time import now, run


def limiter(requests: int | None, tokens: int | None = None, path: Path | None = None) -> RateLimiter:
    return RateLimiter(requests, tokens, path=path, clock=now)


def scenario(act: Callable[[RateLimiter], Awaitable[object]], limits: RateLimiter) -> list[float]:
    """Times, counted from the start, that ``act`` returns."""

    async def whole() -> list[float]:
        times = await act(limits)
        await limits.close()
        assert isinstance(times, list)
        return [at - 1000.0 for at in times]

    return run(whole())


async def entered(limits: RateLimiter, sizes: list[int]) -> list[tuple[float, int]]:
    """(time, tokens) of requests asked for at once, in the order of admission."""
    found: list[tuple[float, int]] = []

    async def one(size: int) -> None:
        await limits.acquire(size)
        found.append((now(), size))

    await asyncio.gather(*[one(size) for size in sizes])
    return found


async def closed(limits: RateLimiter, sizes: list[int]) -> list[tuple[float, int]]:
    found = await entered(limits, sizes)
    await limits.close()
    return found


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 5), st.integers(1, 100), st.lists(st.integers(0, 100), max_size=20))
def test_no_window_holds_more_than_the_limits(requests: int, tokens: int, wanted: list[int]) -> None:
    found = run(closed(limiter(requests, tokens), wanted))
    assert [size for _, size in found] == wanted  # first come, first served
    for start, _ in found:
        window = [size for at, size in found if start <= at < start + WINDOW - 1e-6]
        assert len(window) <= requests
        assert sum(window) <= tokens or len([size for size in window if size]) == 1


def times(limits: RateLimiter, sizes: list[int]) -> list[float]:
    return [at - 1000.0 for at, _ in run(closed(limits, sizes))]


def test_a_burst_goes_at_once_and_the_next_one_waits() -> None:
    assert times(limiter(3), [1] * 7) == pytest.approx([0, 0, 0, 60, 60, 60, 120])


def test_a_request_larger_than_the_limit_goes_alone() -> None:
    assert times(limiter(None, 10), [500, 5]) == pytest.approx([0, 60])


def test_without_limits_nobody_waits_and_no_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / ".limits" / "m.sqlite"
    assert times(limiter(None, path=path), [10**9] * 50) == [0.0] * 50
    assert not path.parent.exists()


def test_settling_frees_what_was_estimated_too_high() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        entry = await limits.acquire(900)
        waiting = asyncio.create_task(limits.acquire(900))
        await asyncio.sleep(0)
        await limits.answered(entry, 50)
        await waiting
        return [now()]

    assert scenario(act, limiter(None, 1000))[0] <= 2.0


def test_settling_too_low_holds_others_back_and_later_than_a_window_nobody() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        entry = await limits.acquire(10)
        await limits.answered(entry, 90)
        await limits.acquire(50)
        held = now()
        await asyncio.sleep(5)
        await limits.answered(entry, 10**6)
        await limits.acquire(50)
        return [held, now()]

    assert scenario(act, limiter(None, 100)) == pytest.approx([60, 65])


def test_a_withdrawn_request_counts_no_more() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        await limits.withdraw(await limits.acquire(0))
        await limits.acquire(0)
        return [now()]

    assert scenario(act, limiter(1)) == [0.0]


def test_a_cancelled_waiter_lets_the_next_one_go() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        await limits.acquire(0)
        tasks = [asyncio.create_task(limits.acquire(0)) for _ in range(3)]
        await asyncio.sleep(1)
        tasks[0].cancel()
        tasks[1].cancel()
        await tasks[2]
        return [now()]

    assert scenario(act, limiter(1)) == pytest.approx([60.0], abs=2)


def test_when_all_waiters_are_cancelled_the_next_one_is_first() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        await limits.acquire(0)
        task = asyncio.create_task(limits.acquire(0))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.sleep(70)
        await limits.acquire(0)
        return [now()]

    assert scenario(act, limiter(1)) == pytest.approx([71.0])


def hints(limit: int | None, remaining: int | None = None, reset: float | None = None) -> Allowance:
    return Allowance(limit, remaining, reset)


@pytest.mark.parametrize(
    ("own", "said", "expected"),
    [
        (None, Hints(hints(2)), [0, 0, 60]),
        (5, Hints(hints(2)), [0, 0, 60]),
        (1, Hints(hints(2)), [0, 60, 120]),
        (None, Hints(hints(None, 0, 7.0)), [7, 7, 7]),
        (None, Hints(hints(None, 2, 7.0)), [0, 0, 7]),
        (None, Hints(tokens=hints(None, 25, 7.0)), [0, 0, 7]),
        (None, Hints(tokens=hints(20)), [0, 0, 60]),
        (None, Hints(hints(None, 0, 10_000.0)), [132, 132, 132]),
    ],
)
def test_what_the_server_says_is_kept_to(own: int | None, said: Hints, expected: list[float]) -> None:
    async def act(limits: RateLimiter) -> list[float]:
        await limits.answered(Entry(0, 0.0, 0), 5, said)
        return [at for at, _ in await entered(limits, [10, 10, 10])]

    assert scenario(act, limiter(own)) == pytest.approx(expected)


def test_the_latest_word_counts_and_ends_after_an_hour() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        for limit in (1, 3):
            await limits.answered(Entry(0, 0.0, 0), 5, Hints(hints(limit)))
        early = [at for at, _ in await entered(limits, [1] * 4)]
        await asyncio.sleep(3700)
        return early + [at for at, _ in await entered(limits, [1] * 4)]

    found = scenario(act, limiter(10**6))
    assert found[:4] == pytest.approx([0, 0, 0, 60]) and len(set(found[4:])) == 1


def test_news_of_limits_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def act(limits: RateLimiter) -> list[float]:
        for _ in range(3):
            await limits.answered(Entry(0, 0.0, 0), 5, Hints(hints(500, 499, 0.1), hints(200_000)))
        for _ in range(3):
            await limits.pause(5.0)
        return []

    with caplog.at_level(logging.INFO):
        scenario(act, limiter(None))
    assert [record.getMessage() for record in caplog.records] == [
        "the backbone allows 500 requests and 200,000 tokens per minute",
        "the backbone asks for a pause of 5.0 s: all its requests wait",
    ]


def test_a_pause_holds_all_back_and_is_bounded() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        await limits.pause(7.0)
        await limits.pause(3.0)  # the longer one counts
        first = [at for at, _ in await entered(limits, [1, 1])]
        await limits.pause(1e9)
        return first + [at for at, _ in await entered(limits, [1])]

    assert scenario(act, limiter(None)) == pytest.approx([7, 7, 139])


def test_refusals_without_a_hint_double_the_pause_once_each_time() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        found = []
        for _ in range(8):
            together = [await limits.acquire(1) for _ in range(5)]
            found.append(now())
            for entry in together:
                await limits.back_off(entry)
        return found

    found = scenario(act, limiter(10**6))
    pauses = [after - before for before, after in itertools.pairwise(found)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60])


def test_a_reply_takes_a_doubling_back() -> None:
    async def act(limits: RateLimiter) -> list[float]:
        for _ in range(3):
            await limits.back_off(await limits.acquire(1))
        for _ in range(3):
            await limits.answered(await limits.acquire(1), 1)
        start = now()
        await limits.back_off(await limits.acquire(1))
        await limits.acquire(1)
        return [1000 + now() - start]

    assert scenario(act, limiter(10**6)) == pytest.approx([1.0])


def test_an_unusable_file_is_told_once_and_the_limits_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert times(limiter(2, path=tmp_path / "file" / "m.sqlite"), [1] * 3) == pytest.approx([0, 0, 60])
    assert caplog.text.count("kept in this process only") == 1


def test_a_file_that_breaks_while_requests_wait_lets_them_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.sqlite"

    async def act(limits: RateLimiter) -> list[float]:
        waiting = asyncio.create_task(entered(limits, [1, 1, 1]))
        await asyncio.sleep(1)
        path.write_bytes(b"no database" * 1000)
        return [at for at, _ in await waiting]

    assert len(scenario(act, limiter(2, path=path))) == 3
    assert caplog.text.count("kept in this process only") == 1


def test_a_damaged_file_begins_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "m.sqlite"
    path.write_bytes(b"no database" * 1000)
    assert times(limiter(2, path=path), [1] * 3) == pytest.approx([0, 0, 60])
    assert not caplog.text and path.read_bytes().startswith(b"SQLite")


async def test_a_busy_file_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    limits = RateLimiter(5, path=tmp_path / "m.sqlite")
    await limits.acquire(1)
    other = sqlite3.connect(tmp_path / "m.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(limits.acquire(1))
    longest = 0.0
    for _ in range(20):
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    assert not waiting.done() and longest < 0.2
    other.execute("COMMIT")
    assert (await waiting).number == 2
    other.close()
    await limits.close()


def test_an_account_and_model_have_one_file(tmp_path: Path) -> None:
    spec = OpenAIBackbone(model="org/model:1", base_url="http://127.0.0.1:1/v1")
    path = window_path(tmp_path, spec)
    assert path.parent == tmp_path and path.name.startswith("org-model-1-")
    assert path == window_path(tmp_path, spec.model_copy(update={"temperature": 1.0}))
    for other in ({"base_url": "http://127.0.0.1:2/v1"}, {"model": "m"}, {"api_key_env": "OTHER"}):
        assert path != window_path(tmp_path, spec.model_copy(update=other))


def test_the_estimate_counts_the_longest_reply() -> None:
    request = Request("act", (Message("user", "x" * 400), Message("user", "y" * 40)))
    assert estimated_tokens(request, 100) == 210
    assert estimated_tokens(request, None) == 110
