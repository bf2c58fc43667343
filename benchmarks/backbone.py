"""CPU per model call, and how near the makespan of many chains comes to the ideal.

A server in another process answers after 200 ± 100 ms. Chains ask one question after the other, each
with 8,000 characters. The ideal makespan is that of the chain whose own latencies add up to most; the
latencies belong to the requests, so they are the same for every client. ``openai`` and ``openai-aiohttp``
are ``chat.completions.create`` of the ``openai`` package with its two HTTP layers, as peers.

Run: ``python -m benchmarks.backbone [--calls 20] [--chains 8 32 128] [--clients ours openai]``.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from backbones.openai_client import OpenAIClient
from backbones.wire import Structure, request_body, request_seed
from ocm.spec import OpenAIBackbone
from ocm.types import Message, Request
from tests.backbones.loopback import serve_in_process, uniform_latency

LOW, HIGH = 0.1, 0.3
MESSAGES = (Message("system", "rules " * 700), Message("user", "state " * 633))
CLIENTS = ("ours", "openai-aiohttp", "openai")

Ask = Callable[[Request], Awaitable[object]]


@dataclass(frozen=True)
class Result:
    """``ideal`` and ``makespan`` in seconds, ``cpu`` in seconds per call of this process."""

    client: str
    chains: int
    ideal: float
    makespan: float
    cpu: float

    @property
    def efficiency(self) -> float:
        return self.ideal / self.makespan


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=20, help="calls of each chain")
    parser.add_argument("--chains", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=list(CLIENTS))
    options = parser.parse_args()
    print("client          chains  ideal s  makespan s  of ideal  CPU ms/call")
    with serve_in_process(LOW, HIGH) as base_url:
        for chains in options.chains:
            for client in options.clients:
                print(_row(asyncio.run(measure(client, base_url, chains, options.calls))), flush=True)


async def measure(client: str, base_url: str, chains: int, calls: int) -> Result:
    """Let so many chains ask at once; connections are opened beforehand."""
    spec = OpenAIBackbone(model="gpt-4.1-mini", base_url=base_url)
    ask, close = _ours(spec) if client == "ours" else _openai(spec, client == "openai-aiohttp")
    await _play(ask, chains, range(1))
    wall, cpu = time.perf_counter(), time.process_time()
    await _play(ask, chains, range(1, calls + 1))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await close()
    return Result(client, chains, _ideal(chains, calls), wall, cpu / (chains * calls))


async def _play(ask: Ask, chains: int, calls: range) -> None:
    async def chain(name: int) -> None:
        for call in calls:
            await ask(_request(name, call))

    await asyncio.gather(*[chain(name) for name in range(chains)])


def _request(chain: int, call: int) -> Request:
    return Request("act", MESSAGES, None, f"chain-{chain}", 0, call)


def _ideal(chains: int, calls: int) -> float:
    latency = uniform_latency(LOW, HIGH)
    return max(
        sum(latency({"seed": request_seed(_request(chain, call))}) for call in range(1, calls + 1))
        for chain in range(chains)
    )


def _ours(spec: OpenAIBackbone) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    backbone = OpenAIClient(spec, {"OPENAI_API_KEY": "key"})
    return backbone.complete, backbone.close


def _openai(spec: OpenAIBackbone, over_aiohttp: bool) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    import openai

    http = openai.DefaultAioHttpClient() if over_aiohttp else openai.DefaultAsyncHttpxClient()
    client = openai.AsyncOpenAI(api_key="key", base_url=spec.base_url, http_client=http, max_retries=0)

    async def ask(request: Request) -> object:
        return await client.chat.completions.create(**request_body(spec, request, Structure.NONE))

    return ask, client.close


def _row(result: Result) -> str:
    return (
        f"{result.client:15} {result.chains:6d} {result.ideal:8.2f} {result.makespan:11.2f} "
        f"{result.efficiency:9.0%} {result.cpu * 1000:12.2f}"
    )


if __name__ == "__main__":
    main()
