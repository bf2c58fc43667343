"""The key: where it comes from, and that it is nowhere else."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from pathlib import Path

import pytest

from backbones.openai_client import OpenAIClient
from ocm.errors import BackboneError, BackboneTerminal, SpecError
from ocm.spec import OpenAIBackbone
from tests.backbones.asking import ENVIRON, KEY, REQUEST, Script, client
from tests.backbones.loopback import (
    Answer,
    LoopbackServer,
    Raw,
    Reset,
    Status,
)

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    "fault",
    [
        Status(400, f"bad key {KEY}"),
        Status(401, f"Incorrect API key provided: {KEY}", code=KEY),
        Status(500, f"crashed with Bearer {KEY}"),
        Raw(f"<html>{KEY}</html>"),
        Raw(json.dumps({"choices": [], KEY: KEY})),
        Reset(),
    ],
    ids=lambda fault: type(fault).__name__ + str(getattr(fault, "status", "")),
)
async def test_the_key_is_in_no_error(fault: Answer, caplog: pytest.LogCaptureFixture) -> None:
    async with LoopbackServer(Script(fault)) as server:
        backbone = client(server, max_attempts=2)
        with caplog.at_level(logging.DEBUG), pytest.raises(BackboneError) as caught:
            await backbone.complete(REQUEST)
        await backbone.close()
    error = caught.value
    ours = error.__traceback__ and error.__traceback__.tb_next  # this test's own frame holds the key
    traced = traceback.TracebackException(type(error), error, ours, capture_locals=True)
    assert "complete" in traced.stack[0].name
    everything = [
        str(error),
        repr(error),
        repr(error.details),
        "".join(traced.format()),
        repr(backbone),
        caplog.text,
        pickle.dumps(error).decode("latin-1"),
    ]
    assert error.__cause__ is None and error.__context__ is None
    assert not [text for text in everything if KEY in text]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.details) == (type(error), str(error), error.details)


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "  "}, {"OPENAI_API_KEY": "two keys"}])
async def test_a_missing_key_is_told_at_once(environ: dict[str, str]) -> None:
    with pytest.raises(SpecError, match="OPENAI_API_KEY") as caught:
        OpenAIClient(OpenAIBackbone(model="m"), environ)
    assert "two keys" not in str(caught.value)


async def test_a_key_with_a_line_end_is_taken_without_it() -> None:
    async with LoopbackServer(key=KEY) as server:
        spec = OpenAIBackbone(model="m", base_url=server.base_url)
        backbone = OpenAIClient(spec, {"OPENAI_API_KEY": f"{KEY}\n"})
        assert (await backbone.complete(REQUEST)).text == "ok"
        await backbone.close()


async def test_servers_without_keys_get_none() -> None:
    async with LoopbackServer() as server:
        backbone = OpenAIClient(OpenAIBackbone(model="m", base_url=server.base_url, api_key_env=""), {})
        await backbone.complete(REQUEST)
        await backbone.close()
        assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize("needs_key", [True, False])
async def test_the_environment_adds_nothing(
    needs_key: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "foreign")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer foreign\nX-Team: foreign")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://foreign.invalid/v1")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login foreign password foreign\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with LoopbackServer() as server:
        spec = OpenAIBackbone(
            model="m", base_url=server.base_url, api_key_env="OPENAI_API_KEY" if needs_key else ""
        )
        backbone = OpenAIClient(spec, ENVIRON)
        await backbone.complete(REQUEST)
        await backbone.close()
    headers = server.received[0].headers
    assert headers.get("authorization") == (f"Bearer {KEY}" if needs_key else None)
    assert "foreign" not in str(headers) and "x-team" not in headers


async def test_proxies_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        behind = OpenAIClient(OpenAIBackbone(model="m", base_url="http://far.invalid/v1"), ENVIRON)
        direct = client(proxy)
        await behind.complete(REQUEST)
        await direct.complete(REQUEST)
        await behind.close()
        await direct.close()
    assert [seen.headers["host"].partition(":")[0] for seen in proxy.received] == ["far.invalid", "127.0.0.1"]


async def test_a_redirect_does_not_take_the_key_along() -> None:
    async with (
        LoopbackServer() as other,
        LoopbackServer(
            Script(Status(307, headers={"Location": f"{other.base_url}/chat/completions"}))
        ) as server,
    ):
        backbone = client(server)
        with pytest.raises(BackboneTerminal, match="base_url"):
            await backbone.complete(REQUEST)
        await backbone.close()
        assert other.received == []
