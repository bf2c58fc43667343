"""From spec to backbone: checks without and with the network, and what counts for identity."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
from pydantic import ValidationError

from backbones.registry import check, create, identity_settings, preflight
from ocm.errors import BackboneTerminal, BackboneTransient
from ocm.spec import OpenAIBackbone, Prices, ScriptedBackbone
from ocm.types import Reply, Request
from tests.backbones.loopback import Latency, serve_in_process, serve_in_thread, uniform_latency

ENVIRON = {"OPENAI_API_KEY": "right"}


def spec(**settings: Any) -> OpenAIBackbone:
    return OpenAIBackbone(**{"model": "gpt-4.1-mini", **settings})


# --- without the network


def test_a_missing_key_is_a_problem_with_its_mend() -> None:
    (problem,) = check(spec(api_key_env="MY_KEY"), {})
    assert "MY_KEY is not set" in str(problem) and 'api_key_env = ""' in str(problem)


@pytest.mark.parametrize(
    ("backbone", "environ"),
    [(spec(), ENVIRON), (spec(api_key_env=""), {}), (spec(api_key_env=None), {}), (ScriptedBackbone(), {})],
)
def test_nothing_is_wrong(backbone: OpenAIBackbone | ScriptedBackbone, environ: dict[str, str]) -> None:
    assert check(backbone, environ) == []


def test_a_backbone_has_its_label() -> None:
    backbone = create(spec(name="mini"), ENVIRON)
    assert (backbone.label, backbone.model) == ("mini", "gpt-4.1-mini")


def test_the_scripted_backbone_is_made_without_a_key() -> None:
    assert create(ScriptedBackbone(name="stand-in"), {}).label == "stand-in"


@pytest.mark.parametrize("url", ["ftp://x/v1", "x", "http://user:word@x/v1", "http://x/v1?key=1"])
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValidationError, match="an address"):
        spec(base_url=url)


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "http://127.0.0.1:8000/v1"},
        {"name": "other"},
        {"api_key_env": "OTHER"},
        {"prices": Prices(input=1, output=1)},
        {"requests_per_minute": 5, "tokens_per_minute": 5, "max_connections": 1},
        {"timeout": 1.0, "max_attempts": 1},
    ],
)
def test_what_decides_no_result_is_no_part_of_the_identity(changes: dict[str, Any]) -> None:
    assert identity_settings(spec(**changes)) == identity_settings(spec())


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "gpt-4.1"},
        {"temperature": 0.7},
        {"send_temperature": False},
        {"top_p": 0.9},
        {"max_tokens": 100},
        {"reasoning_effort": "low"},
        {"send_seed": False},
        {"structured_output": "none"},
    ],
)
def test_what_decides_results_is_part_of_the_identity(changes: dict[str, Any]) -> None:
    assert identity_settings(spec(**changes)) != identity_settings(spec())
    json.dumps(identity_settings(spec(**changes)))


def test_the_scripted_ones_latency_decides_nothing() -> None:
    assert identity_settings(ScriptedBackbone(latency=1.0)) == identity_settings(ScriptedBackbone())
    assert identity_settings(ScriptedBackbone(error_rate=0.5)) != identity_settings(ScriptedBackbone())


def test_checking_a_spec_loads_no_network() -> None:
    code = (
        "import sys; from backbones.registry import check; from ocm.spec import OpenAIBackbone;"
        "check(OpenAIBackbone(model='m'), {}); print([m for m in ('openai', 'aiohttp') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


# --- with the network


def fly(base_url: str, environ: dict[str, str] = ENVIRON) -> None:
    async def once() -> None:
        backbone = create(spec(base_url=base_url), environ)
        try:
            await preflight(backbone)
        finally:
            await backbone.close()

    asyncio.run(once())


def test_a_working_server_passes_and_is_asked_nothing_that_costs() -> None:
    with serve_in_thread(key="right") as server:
        fly(server.base_url)
        assert server.received == []


def test_a_server_without_a_list_of_models_passes() -> None:
    with serve_in_thread(models=False) as server:
        fly(server.base_url)


def test_a_wrong_key_is_told() -> None:
    with serve_in_thread(key="right") as server, pytest.raises(BackboneTerminal, match="check the key in"):
        fly(server.base_url, {"OPENAI_API_KEY": "wrong"})


def test_an_unreachable_server_is_told() -> None:
    with serve_in_thread() as server:
        address = server.base_url
    with pytest.raises(BackboneTransient, match="no server answers"):
        fly(address)


def test_an_unknown_host_is_told() -> None:
    with pytest.raises(BackboneTransient, match=r"no server answers at http://no-such-host\.invalid/v1"):
        fly("http://no-such-host.invalid/v1")


def test_backbones_without_a_preflight_pass() -> None:
    class Plain:
        label = model = "plain"

        async def complete(self, request: Request) -> Reply:
            raise AssertionError("a preflight must cost nothing")

        async def close(self) -> None: ...

    asyncio.run(preflight(Plain()))


# --- the loopback server itself


def post(base_url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def test_it_serves_from_a_process_of_its_own() -> None:
    with serve_in_process(text="from afar") as base_url:
        answer = post(base_url, {"model": "m", "messages": []})
    assert answer["choices"][0]["message"]["content"] == "from afar"


def test_latencies_belong_to_the_request() -> None:
    latency: Latency = uniform_latency(0.1, 0.3)
    assert latency({"seed": 1}) == latency({"seed": 1}) != latency({"seed": 2})
    assert all(0.1 <= latency({"seed": seed}) <= 0.3 for seed in range(50))
