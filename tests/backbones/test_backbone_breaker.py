"""A backbone that is down: the state machine, and several requests at a server that goes and comes back."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest

from backbones.breaker import FAILURES_IN_A_ROW, Breaker, Circuit, Step
from backbones.failures import Failure, Kind
from backbones.openai_client import OpenAIClient
from ocm.errors import BackboneDown, BackboneTransient
from ocm.spec import OpenAIBackbone
from tests.backbones.asking import ENVIRON, REQUEST, Hasty, Script, client
from tests.backbones.loopback import Answer, LoopbackServer, Status, Text
from tests.backbones.virtual_time import now, run

REFUSED = Failure(Kind.UNREACHABLE, "connection refused")
COUNTED = (Kind.UNREACHABLE, Kind.TIMEOUT, Kind.BROKEN, Kind.SERVER, Kind.RATE)


@pytest.mark.parametrize("kind", Kind)
def test_failures_in_a_row_open_it(kind: Kind) -> None:
    circuit = Circuit(600)
    opened = [circuit.failed(Failure(kind, "no"), 1.0) for _ in range(FAILURES_IN_A_ROW)]
    assert opened == [False] * (FAILURES_IN_A_ROW - 1) + [kind in COUNTED]
    assert circuit.is_open is (kind in COUNTED)


def test_a_reply_between_keeps_it_closed() -> None:
    circuit = Circuit(600)
    for _ in range(5):
        for _ in range(FAILURES_IN_A_ROW - 1):
            assert not circuit.failed(REFUSED, 1.0)
        assert not circuit.replied()
    assert circuit.step(1.0) is Step.SEND


def test_probes_come_at_doubling_intervals_one_at_a_time_and_end() -> None:
    circuit = Circuit(600)
    assert circuit.open(0.0) and not circuit.open(1.0)
    at, probes = 0.0, []
    while (step := circuit.step(at)) is not Step.GIVE_UP:
        if step is Step.PROBE:
            probes.append(at)
            assert circuit.step(at) is Step.WAIT
            circuit.probe_failed(REFUSED, at)
            circuit.probe_ended()
        assert circuit.step(at, is_first=False) is Step.WAIT
        at += circuit.wait(at)
    assert probes == [5, 15, 35, 75, 155, 275, 395, 515] and at == 600
    assert circuit.step(636.0) is Step.PROBE  # later requests find out whether it is back
    assert circuit.replied() and circuit.step(636.0) is Step.SEND


def test_without_patience_all_give_up_at_once() -> None:
    circuit = Circuit(0)
    circuit.open(0.0)
    assert circuit.step(0.0) is Step.GIVE_UP


def test_a_spent_quota_is_for_ever() -> None:
    circuit = Circuit(600)
    assert not circuit.failed(Failure(Kind.QUOTA, "spent"), 0.0)
    assert circuit.step(math.inf) is Step.GIVE_UP and not circuit.replied()
    assert circuit.step(math.inf) is Step.GIVE_UP


class Backend:
    """A server of virtual time that is down until a moment; each request takes a second."""

    def __init__(self, up_at: float, patience: float) -> None:
        self.up_at = up_at
        self.told: list[str] = []
        self.asked: list[float] = []
        self.at_once = self.most_at_once = 0
        self.breaker = Breaker("m", patience, self.told.append, clock=now)

    async def complete(self) -> float | None:
        """When the reply came, None if the request gave up."""
        while (step := await self.breaker.turn()) is not Step.GIVE_UP:
            self.asked.append(now() - 1000.0)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(1.0)
            self.at_once -= 1
            failure = REFUSED if now() - 1000.0 < self.up_at else None
            self.breaker.failed(failure) if failure else self.breaker.answered()
            if step is Step.PROBE:
                self.breaker.probed(failure)
            if failure is None:
                return now() - 1000.0
        return None


async def opened(up_at: float, patience: float) -> Backend:
    backend = Backend(up_at, patience)
    backend.breaker.failed(REFUSED)
    backend.breaker.open()
    return backend


def test_while_it_is_down_one_probes_and_then_all_go_on() -> None:
    async def scenario() -> tuple[Backend, list[float | None]]:
        backend = await opened(up_at=30.0, patience=600.0)
        probing = asyncio.gather(*[backend.complete() for _ in range(20)])
        await asyncio.sleep(30)
        assert backend.most_at_once == 1
        return backend, await probing

    backend, replies = run(scenario())
    assert backend.asked[:3] == pytest.approx([5, 16, 37]) and len(backend.asked) == 22
    assert sorted(replies, key=float) == pytest.approx([38] + [39] * 19)  # type: ignore[arg-type]
    assert "connection refused): 1 request waits, next try in 5 s" in backend.told[0]
    assert "20 requests wait, next try in 10 s" in backend.told[1]
    assert backend.told[-1] == "m answers again, after 38 s"


def test_when_patience_ends_all_give_up_once_told() -> None:
    async def scenario() -> tuple[Backend, list[float | None], float]:
        backend = await opened(up_at=math.inf, patience=100.0)
        replies = await asyncio.gather(*[backend.complete() for _ in range(20)])
        return backend, replies, now() - 1000.0

    backend, replies, ended = run(scenario())
    assert replies == [None] * 20 and 100 <= ended <= 101
    assert len(backend.asked) == 4 and len([line for line in backend.told if "pause" in line]) == 1


def test_a_cancelled_waiter_is_not_waited_for() -> None:
    async def scenario() -> float | None:
        backend = await opened(up_at=3.0, patience=100.0)
        first, second = (asyncio.create_task(backend.complete()) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        return await second

    assert run(scenario()) == pytest.approx(6.0)


async def ask(backbone: OpenAIClient, count: int) -> list[Any]:
    requests = [replace(REQUEST, chain=f"chain {index}") for index in range(count)]
    return await asyncio.gather(*map(backbone.complete, requests), return_exceptions=True)


def hasty(server: LoopbackServer, told: list[str], **settings: Any) -> OpenAIClient:
    time = Hasty(200)
    spec = OpenAIBackbone(model="gpt-4.1-mini", base_url=server.base_url, **settings)
    return OpenAIClient(spec, ENVIRON, tell=told.append, sleep=time.sleep, clock=time.clock)


async def test_a_server_that_comes_back_lets_all_chains_go_on() -> None:
    told: list[str] = []
    async with LoopbackServer(Script(*[Status(502)] * 14, "fine")) as server:
        backbone = hasty(server, told)
        replies = await ask(backbone, 6)
        await backbone.close()
        assert len(server.received) <= 14 + 12
    assert [reply.text for reply in replies] == ["fine"] * 6
    assert "is down since" in told[0] and "answers again" in told[-1]


async def test_a_server_that_stays_away_pauses_all_chains_after_few_requests() -> None:
    told: list[str] = []
    async with LoopbackServer(Script(Status(503, "restarting"))) as server:
        backbone = hasty(server, told, patience_minutes=2)
        errors = await ask(backbone, 6)
        asked = len(server.received)
        late = await ask(backbone, 6)
        await backbone.close()
        assert asked <= FAILURES_IN_A_ROW + 6 + 6 and len(server.received) <= asked + 2
    assert {type(error) for error in errors + late} == {BackboneDown}
    assert "gpt-4.1-mini: " in str(errors[0]) and "503 (restarting), down since" in str(errors[0])
    assert str(errors[0]).endswith(
        "look at the server's log; the same command goes on where this one stopped"
    )
    assert errors[0].details["chain"] == "chain 0"


async def test_one_request_that_always_fails_does_so_alone() -> None:
    def script(request: dict[str, Any]) -> Answer:
        poison = request["messages"][-1]["content"] == "poison"
        return Status(500, "cannot tokenize") if poison else Text("fine")

    told: list[str] = []
    async with LoopbackServer(script, latency=lambda _: 0.01) as server:
        backbone = hasty(server, told, max_attempts=4)
        poison = replace(REQUEST, messages=(replace(REQUEST.messages[-1], content="poison"),))
        failing = asyncio.ensure_future(asyncio.gather(backbone.complete(poison), return_exceptions=True))
        while not failing.done():
            assert (await backbone.complete(REQUEST)).text == "fine"
        await backbone.close()
    (error,) = failing.result()
    assert type(error) is BackboneTransient and "after 4 tries" in str(error) and not told


async def test_it_also_ends_alone_where_replies_of_others_take_long() -> None:
    """All its tries fit between two replies of others, which look like an outage, but only once."""

    def script(request: dict[str, Any]) -> Answer:
        return Status(500) if request["messages"][-1]["content"] == "poison" else Text("fine")

    def latency(request: dict[str, Any]) -> float:
        return 0.0 if request["messages"][-1]["content"] == "poison" else 0.15

    async with LoopbackServer(script, latency=latency) as server:
        backbone = hasty(server, [], max_attempts=2)
        poison = replace(REQUEST, messages=(replace(REQUEST.messages[-1], content="poison"),))
        failing = asyncio.ensure_future(asyncio.gather(backbone.complete(poison), return_exceptions=True))
        while not failing.done():
            assert (await backbone.complete(REQUEST)).text == "fine"
        await backbone.close()
    assert type(failing.result()[0]) is BackboneTransient


async def test_after_an_outage_a_request_has_all_its_tries_again() -> None:
    fails = [True] * 3 + [True] + [True] * 2  # all tries, a probe, and two more

    def script(request: dict[str, Any]) -> Answer:
        unlucky = request["messages"][-1]["content"] == "unlucky"
        return Status(500) if unlucky and fails and fails.pop() else Text("fine")

    async with LoopbackServer(script) as server:
        backbone = hasty(server, [], max_attempts=3)
        unlucky = replace(REQUEST, messages=(replace(REQUEST.messages[-1], content="unlucky"),))
        first = asyncio.ensure_future(backbone.complete(unlucky))
        while not backbone._breaker.holds_back:
            await asyncio.sleep(0.001)
        assert (await backbone.complete(REQUEST)).text == "fine"
        assert (await first).attempts == 7
        await backbone.close()


async def test_a_spent_quota_pauses_and_nobody_asks_again() -> None:
    told: list[str] = []
    async with LoopbackServer(Script(Status(429, "pay", code="insufficient_quota"))) as server:
        backbone = hasty(server, told)
        first = (await ask(backbone, 1))[0]
        late = await ask(backbone, 5)
        await backbone.close()
        assert len(server.received) == 1
    assert {type(error) for error in [first, *late]} == {BackboneDown}
    assert "add credit" in str(late[0]) and "the same command goes on" in str(late[0])
    assert len(told) == 1 and "the quota is spent" in told[0]


async def test_requests_that_wait_for_a_connection_are_not_sent_to_a_server_that_is_down() -> None:
    async with LoopbackServer(Script(Status(500)), latency=lambda _: 0.02) as server:
        backbone = hasty(server, [], max_connections=1, max_attempts=1, patience_minutes=0)
        errors = await ask(backbone, 6)
        await backbone.close()
        assert len(server.received) == 1
    assert {type(error) for error in errors} == {BackboneDown}


@pytest.mark.parametrize("refusal", [Status(401), Status(400)], ids=str)
async def test_a_refusal_shows_that_the_server_is_up(refusal: Status) -> None:
    async with LoopbackServer(Script(Status(500), refusal)) as server:
        backbone = client(server, max_attempts=1)
        with pytest.raises(Exception, match=str(refusal.status)):
            await backbone.complete(REQUEST)
        await backbone.close()


async def test_a_gateway_that_knows_no_path_while_it_starts_ends_no_chain() -> None:
    async with LoopbackServer(Script(Status(503), Status(404), Status(404), "fine")) as server:
        backbone = client(server, max_attempts=1)
        assert (await backbone.complete(REQUEST)).attempts == 4
        await backbone.close()
