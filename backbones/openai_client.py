"""A chat model behind an OpenAI-compatible server: chat completions with one retry loop.

The ``openai`` package sends the requests (:mod:`backbones.transport`). Its own retries are off: ours know
a spent quota from a rate limit, pause the same in equal runs, and count every request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from backbones.failures import Failure, Kind, as_error, refuses_structure, retry_delay
from backbones.keys import read_key
from backbones.limits import RateLimiter, estimated_tokens
from backbones.prices import cost, prices_of
from backbones.transport import Transport
from backbones.wire import Completion, Structure, read_completion, request_body
from ocm.errors import BackboneError
from ocm.identity import generator
from ocm.spec import OpenAIBackbone, backbone_label
from ocm.types import Reply, Request, Usage

PREFLIGHT_SECONDS = 10.0

log = logging.getLogger(__name__)


class OpenAIClient:
    """Answers requests of all chains of one event loop over one connection pool.

    ``environ``: where the key is looked up. ``sleep`` and ``clock`` are replaced in tests.

    Where the server refuses a ``response_format``, requests step down from ``json_schema`` to
    ``json_object`` to none, and stay there; a refused one does not count as a failed try.

    A reply without usage has zero tokens and no cost. ``latency`` counts from the call of
    :meth:`complete`, waiting for a connection and for the rate limits included.

    Raises:
        SpecError: the key's environment variable is not set.
    """

    def __init__(
        self,
        spec: OpenAIBackbone,
        environ: Mapping[str, str],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label = backbone_label(spec)
        self.model = spec.model
        self._spec = spec
        self._sleep = sleep
        self._clock = clock
        self._transport = Transport(
            spec.base_url, read_key(spec, environ), spec.max_connections, spec.timeout
        )
        self._limiter = RateLimiter(
            spec.requests_per_minute, spec.tokens_per_minute, sleep=sleep, clock=clock
        )
        self._prices = prices_of(spec)
        self._structure = first_structure(spec)

    async def complete(self, request: Request) -> Reply:
        """Answer one request; see :class:`backbones.protocol.Backbone`."""
        started = self._clock()
        jitter = generator("retry", request.chain, request.episode, request.call)
        sent = failed = 0
        while True:
            structure = self._structure
            outcome = await self._try(request, structure)
            sent += 1
            if isinstance(outcome, Completion):
                return self._reply(outcome, self._clock() - started, sent)
            if self._steps_down(request, outcome, structure):
                continue
            failed += 1
            if not outcome.kind.is_transient or failed >= self._spec.max_attempts:
                raise self._error(outcome, request, sent)
            await self._sleep(retry_delay(failed, outcome.retry_after, jitter))

    async def preflight(self) -> None:
        """Ask for the list of models, which costs nothing, to learn of a wrong address or key early.

        Passes if the server has no such list, or is only busy.

        Raises:
            BackboneTransient: no server answers.
            BackboneTerminal: the key is refused.
        """
        answer = await self._transport.get("/models", min(PREFLIGHT_SECONDS, self._spec.timeout))
        if isinstance(answer, Failure) and _stops_a_sweep(answer):
            raise self._error(answer, None, 1)

    async def close(self) -> None:
        """Close connections. May be called twice."""
        await self._transport.close()

    async def _try(self, request: Request, structure: Structure) -> Completion | Failure:
        entry = await self._limiter.acquire(estimated_tokens(request, self._spec.max_tokens))
        body = request_body(self._spec, request, structure)
        answer = await self._transport.post("/chat/completions", body)
        outcome = answer if isinstance(answer, Failure) else _read(answer)
        if isinstance(outcome, Completion) and (usage := outcome.usage) is not None:
            self._limiter.settle(entry, usage.prompt + usage.completion)
        return outcome

    def _reply(self, completion: Completion, latency: float, sent: int) -> Reply:
        usage = completion.usage
        return Reply(
            text=completion.text,
            finish_reason=completion.finish_reason,
            usage=usage or Usage(),
            cost=None if usage is None else cost(usage, self._prices),
            latency=latency,
            model=completion.model or self.model,
            fingerprint=completion.system_fingerprint or "",
            attempts=sent,
        )

    def _steps_down(self, request: Request, failure: Failure, structure: Structure) -> bool:
        """Whether to ask again in a weaker way; many chains may find this out at once."""
        weaker = structure.weaker
        if request.schema is None or self._spec.structured_output != "auto" or weaker is None:
            return False
        if not refuses_structure(failure):
            return False
        if self._structure is structure:
            self._structure = weaker
            log.warning("%s refuses %s, going on with %s: %s", self.label, structure, weaker, failure.reason)
        return True

    def _error(self, failure: Failure, request: Request | None, sent: int) -> BackboneError:
        return as_error(failure, self._spec, request, sent)


def first_structure(spec: OpenAIBackbone) -> Structure:
    """The way in which a JSON reply is asked for at first."""
    wanted = spec.structured_output
    return Structure.JSON_SCHEMA if wanted == "auto" else Structure(wanted)


def _read(body: bytes) -> Completion | Failure:
    completion = read_completion(body)
    if isinstance(completion, Completion):
        return completion
    return Failure(Kind.MALFORMED, completion, 200, body=body.decode("utf-8", "replace"))


def _stops_a_sweep(failure: Failure) -> bool:
    """Of answers, only a refused key. OpenAI's restricted keys may chat without the scope to list models."""
    return failure.status is None or (failure.status == 401 and "issing scope" not in failure.body)
