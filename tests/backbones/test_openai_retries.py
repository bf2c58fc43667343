"""What is tried again, what is told at once, and how long it may take."""

from __future__ import annotations

import asyncio
import socket

import pytest

from backbones.openai_client import OpenAIClient
from ocm.errors import BackboneDown, BackboneTerminal, BackboneTransient
from ocm.spec import OpenAIBackbone
from ocm.types import Request
from tests.backbones.asking import ENVIRON, REQUEST, STRUCTURED, Script, Sleeps, client
from tests.backbones.loopback import (
    NO_CHOICES,
    Answer,
    Hang,
    LoopbackServer,
    Raw,
    Reset,
    Status,
    Trickle,
)

pytestmark = pytest.mark.asyncio

FAULTS = [
    Status(408),
    Status(409),
    Status(500),
    Status(503),
    Raw("<html>bad gateway</html>", 502, "text/html"),
    Raw("{not json"),
    Raw('{"choices": [{"index": 0}]}'),
    NO_CHOICES,
    Reset(in_body=True),
    Reset(in_body=False),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_passing_fault_costs_one_more_request(fault: Answer) -> None:
    sleeps = Sleeps()
    async with LoopbackServer(Script(fault, "fine")) as server:
        backbone = client(server, sleeps)
        reply = await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 2
        assert server.received[0].body == server.received[1].body
    assert (reply.text, reply.attempts) == ("fine", 2)
    assert len(sleeps) == 1 and 0.25 <= sleeps[0] <= 0.5


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_lasting_fault_uses_all_tries(fault: Answer) -> None:
    """A server that answers nonsense is up, and the request fails; of one that does not, the chain pauses."""
    sleeps = Sleeps()
    answers = isinstance(fault, Raw) and fault.status == 200
    error, message = (BackboneTransient, "after 3 tries") if answers else (BackboneDown, "down since")
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server, sleeps, max_attempts=3, patience_minutes=0)
        with pytest.raises(error, match=message) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 3
    assert len(sleeps) == 2 and sleeps[1] > sleeps[0]
    assert (caught.value.details["attempts"], caught.value.details["call"]) == (3, 7)


@pytest.mark.parametrize(
    "fault",
    [Status(status) for status in (400, 401, 403, 404, 422)],
    ids=str,
)
async def test_what_cannot_succeed_is_told_at_once(fault: Status) -> None:
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server)
        with pytest.raises(BackboneTerminal) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
        assert len(server.received) == 1
    assert caught.value.details["status"] == fault.status


async def test_a_silent_server_times_out() -> None:
    async with LoopbackServer(Script(Hang(), "fine")) as server:
        backbone = client(server, timeout=0.5)
        assert (await backbone.complete(REQUEST)).attempts == 2
        await backbone.close()


async def test_a_reply_that_never_ends_times_out() -> None:
    async with LoopbackServer(Script(Trickle(), "fine")) as server:
        backbone = client(server, timeout=0.5, max_connections=1)
        assert (await backbone.complete(REQUEST)).attempts == 2
        await backbone.close()


async def test_waiting_for_a_turn_does_not_time_out() -> None:
    async with LoopbackServer(latency=lambda _: 0.2) as server:
        backbone = client(server, timeout=0.8, max_connections=1)
        replies = await asyncio.gather(*[backbone.complete(REQUEST) for _ in range(6)])
        await backbone.close()
    assert {reply.attempts for reply in replies} == {1}


async def test_a_lasting_silence_is_said() -> None:
    async with LoopbackServer(Script(Hang())) as server:
        backbone = client(server, timeout=0.05, max_attempts=2, patience_minutes=0)
        with pytest.raises(BackboneDown, match=r"no answer within 0.05 s.*raise timeout"):
            await backbone.complete(REQUEST)
        await backbone.close()


async def test_a_rate_limit_without_a_hint_makes_all_wait_for_a_second_and_then_for_longer() -> None:
    sleeps = Sleeps()
    async with LoopbackServer(Script(Status(429), "fine", Status(429), Status(429), "fine")) as server:
        backbone = client(server, sleeps)
        assert (await backbone.complete(REQUEST)).attempts == 2
        assert 0.9 <= sum(sleeps) <= 1.1
        assert (await backbone.complete(STRUCTURED)).attempts == 3
        await backbone.close()
    assert 0.9 + 1 + 2 <= sum(sleeps) <= 1.1 + 1.1 + 2.1


async def test_retry_after_is_honoured() -> None:
    sleeps = Sleeps()
    busy = [Status(429, headers={"Retry-After": "7"}), Status(503, headers={"retry-after-ms": "1500"})]
    too_long = Status(429, headers={"Retry-After": "86400"})
    async with LoopbackServer(Script(*busy, too_long, "fine")) as server:
        backbone = client(server, sleeps)
        assert (await backbone.complete(REQUEST)).attempts == 4
        await backbone.close()
    assert 7 + 1.5 + 120 <= sum(sleeps) <= 7.7 + 1.65 + 132


async def test_equal_calls_pause_equally_and_others_do_not() -> None:
    async def pauses(request: Request) -> list[float]:
        sleeps = Sleeps()
        async with LoopbackServer(Script(Status(500), Status(500), "fine")) as server:
            backbone = client(server, sleeps)
            await backbone.complete(request)
            await backbone.close()
        return list(sleeps)

    assert await pauses(REQUEST) == await pauses(REQUEST) != await pauses(STRUCTURED)


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


async def test_an_unreachable_server_is_said_with_the_mend() -> None:
    address = f"http://127.0.0.1:{unused_port()}/v1"
    spec = OpenAIBackbone(model="m", base_url=address, max_attempts=2, patience_minutes=0)
    backbone = OpenAIClient(spec, ENVIRON, sleep=Sleeps())
    with pytest.raises(BackboneDown) as caught:
        await backbone.complete(REQUEST)
    await backbone.close()
    assert str(caught.value).startswith(f"m: no server answers at {address} (")
    assert "refused" in str(caught.value) and "start it, or set base_url" in str(caught.value)


@pytest.mark.parametrize("in_body", [True, False])
async def test_a_broken_connection_is_no_time_out(in_body: bool) -> None:
    async with LoopbackServer(Script(Reset(in_body))) as server:
        backbone = client(server, max_attempts=1, patience_minutes=0)
        with pytest.raises(BackboneDown) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    assert caught.value.details["kind"] == "broken connection"


async def test_a_server_that_speaks_no_http_is_a_broken_connection() -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        spec = OpenAIBackbone(model="m", base_url=address, max_attempts=1, patience_minutes=0)
        backbone = OpenAIClient(spec, ENVIRON)
        with pytest.raises(BackboneDown) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    assert caught.value.details["kind"] == "broken connection"


async def test_an_address_that_is_none_is_told_at_once() -> None:
    """Ports and blanks are the spec's to refuse; this name passes there and is still no host's."""
    backbone = OpenAIClient(OpenAIBackbone(model="m", base_url="http://a..b/v1"), ENVIRON)
    with pytest.raises(BackboneTerminal, match="set base_url"):
        await backbone.complete(REQUEST)
    await backbone.close()


async def test_a_missing_certificate_file_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/missing/authority.pem")
    async with LoopbackServer() as server:
        backbone = client(server)
        with pytest.raises(BackboneTerminal, match=r"no such file.*SSL_CERT_FILE"):
            await backbone.complete(REQUEST)


async def test_a_server_without_tls_is_told_at_once() -> None:
    async with LoopbackServer() as server:
        backbone = client(server, base_url=server.base_url.replace("http:", "https:"))
        with pytest.raises(BackboneTerminal, match="check base_url"):
            await backbone.complete(REQUEST)
        await backbone.close()


async def test_cancelling_gives_the_connection_back() -> None:
    async with LoopbackServer(Script(Hang(), "fine")) as server:
        backbone = client(server, max_connections=1)
        hanging = asyncio.create_task(backbone.complete(REQUEST))
        while not server.received:
            await asyncio.sleep(0.01)
        hanging.cancel()
        reply = await asyncio.wait_for(backbone.complete(REQUEST), 5)
        await backbone.close()
    assert reply.text == "fine"
