"""One window for several processes: its limits, its queue, and processes that are killed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backbones.openai_client import OpenAIClient
from backbones.rate_headers import Allowance, Hints
from backbones.window import LONGEST_PAUSE, STALE, WINDOW, Entry, Ticket, Window
from ocm.spec import OpenAIBackbone
from tests.backbones.asking import ENVIRON, REQUEST, Script, Sleeps, client
from tests.backbones.loopback import LoopbackServer, Status, Text


class Process:
    """Uses a window as a process does: what it sent, and what waits."""

    def __init__(self, path: Path, limits: tuple[int | None, int | None], clock: Any) -> None:
        self.window = Window(path, *limits, clock)
        self.clock = clock
        self.waiting: dict[int, Ticket] = {}
        self.sent: list[Entry] = []

    def ask(self, tokens: int) -> int | None:
        """The ticket's number, None if the request was admitted."""
        place = self.window.enter(tokens)
        if isinstance(place, Entry):
            self.sent.append(place)
            return None
        self.waiting[place.number] = place
        return place.number

    def look(self) -> list[int]:
        """The tickets whose turn has come."""
        granted = self.window.poll(self.waiting).granted
        for number, entry in granted.items():
            del self.waiting[number]
            self.sent.append(entry)
        return sorted(granted)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def processes(count: int, requests: int | None, tokens: int | None = None) -> Iterator[tuple[Any, ...]]:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        several = [Process(Path(folder) / "m.sqlite", (requests, tokens), clock) for _ in range(count)]
        yield (clock, *several)
        for process in several:
            process.window.close()


moves = st.lists(
    st.tuples(st.sampled_from(["ask", "look", "pass"]), st.integers(0, 1), st.integers(1, 40)), max_size=60
)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(20, 100), moves)
def test_no_window_of_two_processes_holds_more_than_the_limits(
    requests: int, tokens: int, moves: Any
) -> None:
    with processes(2, requests, tokens) as (clock, *both):
        for what, which, amount in moves:
            if what == "ask":
                both[which].ask(amount)
            elif what == "look":
                both[which].look()
            else:
                clock.now += amount
        sent = sorted((entry for one in both for entry in one.sent), key=lambda entry: entry.at)
    for start in sent:
        window = [entry.tokens for entry in sent if start.at <= entry.at < start.at + WINDOW]
        assert len(window) <= requests
        assert sum(window) <= tokens or len(window) == 1


@settings(deadline=None, max_examples=20)
@given(moves)
def test_everybody_gets_a_turn(moves: Any) -> None:
    with processes(2, 2) as (clock, *both):
        for what, which, amount in moves:
            if what == "ask":
                both[which].ask(amount)
            elif what == "look":
                both[which].look()
        for _ in range(len(moves) * 2):
            for one in both:
                one.look()
            clock.now += STALE - 1
        for _ in range(len(moves) * 16):
            clock.now += STALE - 1
            for one in both:
                one.look()
        assert not both[0].waiting and not both[1].waiting


def test_turns_come_in_the_order_of_arrival_over_all_processes() -> None:
    """Eight waiters of one process and two of another."""
    with processes(2, 1) as (clock, many, few):
        many.ask(1)
        order = [process.ask(1) for process in [many, many, few, many, many, many, few, many, many, many]]
        turns = []
        for _ in range(700):
            clock.now += 1
            turns += [*many.look(), *few.look()]
        assert turns == order == sorted(order)


def test_a_process_serves_the_queue_of_another_that_is_slow_to_look() -> None:
    with processes(2, 2) as (clock, slow, quick):
        for _ in range(2):
            quick.ask(1)
        slow.ask(1), quick.ask(1)
        clock.now += WINDOW
        assert quick.look() == [2]  # the first was granted too, and is still to be picked up
        clock.now += 3
        assert slow.look() == [1] and slow.sent[0].at == clock.now
        clock.now += WINDOW - 3
        assert quick.ask(1) is None
        clock.now += 1  # what was picked up later counts for longer
        assert quick.ask(1) is not None


def test_a_turn_that_is_not_picked_up_for_a_window_is_waited_for_again() -> None:
    with processes(2, 1) as (clock, slow, quick):
        quick.ask(1)
        slow.ask(1)
        clock.now += WINDOW
        quick.look()
        clock.now += WINDOW + 1
        quick.ask(1)
        assert slow.look() == []
        clock.now += WINDOW
        assert slow.look() == [1]


def test_tickets_of_a_process_that_does_not_look_any_more_are_dropped_and_taken_up_again() -> None:
    with processes(2, 1) as (clock, gone, here):
        here.ask(1)
        gone.ask(1), here.ask(1), here.ask(1)
        clock.now += WINDOW - STALE - 1
        here.look()
        clock.now += STALE + 1
        assert here.look() == [2]
        assert gone.look() == []  # it lives after all
        clock.now += WINDOW
        assert here.look() == [] and gone.look() == [1]


def test_a_turn_of_a_process_that_is_gone_is_free_again() -> None:
    with processes(2, 1) as (clock, gone, here):
        here.ask(1)
        gone.ask(1), here.ask(1)
        clock.now += WINDOW
        assert here.look() == []  # granted to the other
        clock.now += STALE + 1
        assert here.look() == [2]


def test_a_clock_that_was_set_back_holds_nobody_back_for_longer_than_a_window() -> None:
    with processes(2, 1) as (clock, one, other):
        one.ask(1)
        one.window.answered(one.sent[0], 1, Hints(Allowance(1, 0, 60.0)))
        one.window.pause(60.0)
        clock.now -= 10_000
        other.ask(1)
        assert other.window.poll(other.waiting).wait <= LONGEST_PAUSE
        clock.now += LONGEST_PAUSE
        assert other.look() == [1]


def test_a_clock_that_leaps_ahead_lets_all_go() -> None:
    with processes(2, 1) as (clock, one, other):
        one.ask(1)
        other.ask(1)
        clock.now += 1e6
        assert other.look() == [1]


@contextmanager
def running(path: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.backbones.limited_process", str(path), *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as process:
        try:
            assert heard(process) == "ready"
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def told(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.sqlite"


def test_two_real_processes_keep_the_limit_together(path: Path) -> None:
    limit = 20
    with ExitStack() as stack:
        both = [stack.enter_context(running(path, "rush", limit, 60)) for _ in range(2)]
        for process in both:
            told(process)
        times = sorted(float(heard(process)) for process in both for _ in range(2 * limit))
    for start in times:
        assert len([at for at in times if start <= at < start + WINDOW]) <= limit
    assert times[-1] - times[0] < 5 * WINDOW


def queued(
    path: Path, stack: ExitStack, plan: str, limit: int, factor: int
) -> dict[str, subprocess.Popen[str]]:
    """Processes by letter, whose requests wait in this order."""
    gate = Window(path, None, None, lambda: time.time() * factor)
    gate.pause(LONGEST_PAUSE)
    gate.close()
    several = {name: stack.enter_context(running(path, "wait", limit, factor)) for name in sorted(set(plan))}
    for name in plan:
        told(several[name])
        assert heard(several[name]) == "waits"
    return several


def open_the_gate(path: Path) -> None:
    database = sqlite3.connect(path, timeout=10)
    with database:
        database.execute("UPDATE state SET closed_until = 0")
    database.close()


def test_two_real_processes_are_served_in_the_order_of_arrival(path: Path) -> None:
    plan = "aabaaabaaa"
    with ExitStack() as stack:
        several = queued(path, stack, plan, 10**6, 1)
        open_the_gate(path)
        turns = {heard(several[name]).removeprefix("turn "): name for name in plan}
    assert "".join(turns[number] for number in sorted(turns, key=int)) == plan


def test_a_killed_process_blocks_nobody(path: Path) -> None:
    with ExitStack() as stack:
        several = queued(path, stack, "aab", 2, 6)
        several["a"].kill()
        open_the_gate(path)
        began = time.monotonic()
        assert heard(several["b"]).startswith("turn")
        assert time.monotonic() - began < WINDOW / 6 - 2


def test_a_process_killed_at_any_moment_leaves_the_file_whole(path: Path) -> None:
    for _ in range(2):
        with running(path, "churn", 10**6, 1) as process:
            time.sleep(0.1)
            process.kill()
    window = Window(path, 10**6, None, time.time)
    assert isinstance(window.enter(1), Entry)
    window.close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    counted = database.execute("SELECT count(*), sum(tokens) FROM admitted").fetchone()
    assert counted == database.execute("SELECT requests, tokens FROM state").fetchone()
    database.close()


async def test_a_pause_that_one_client_is_asked_for_holds_the_others_back(tmp_path: Path) -> None:
    """Two clients with one storage root, as two workers have; none has a limit of its own."""
    time_of_day = Sleeps()
    busy = Status(429, headers={"Retry-After": "30"})
    async with LoopbackServer(Script(busy, "fine")) as server:
        spec = OpenAIBackbone(model="m", base_url=server.base_url)
        clients = [
            OpenAIClient(spec, ENVIRON, limits=tmp_path, sleep=time_of_day, clock=time_of_day.clock)
            for _ in range(2)
        ]
        first = await clients[0].complete(REQUEST)
        waited = sum(time_of_day)
        await clients[0]._limiter.pause(40.0)
        second = await clients[1].complete(REQUEST)
        for one in clients:
            await one.close()
    assert (first.attempts, second.attempts) == (2, 1)
    assert 30 <= waited <= 34 and sum(time_of_day) >= waited + 39


async def test_limits_in_headers_of_good_answers_are_kept_to() -> None:
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20s"}
    sleeps = Sleeps()
    async with LoopbackServer(Script(Text("fine", headers=headers), "fine")) as server:
        backbone = client(server, sleeps)
        await backbone.complete(REQUEST)
        assert sum(sleeps) == 0
        await backbone.complete(REQUEST)
        await backbone.close()
    assert 19.5 <= sum(sleeps) <= 20.5
