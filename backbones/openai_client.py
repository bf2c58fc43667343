"""A chat model behind an OpenAI-compatible server: chat completions with one retry loop.

Calls go through aiohttp rather than the ``openai`` package's client, which costs six times the CPU;
:mod:`backbones.transport` has the figures.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from backbones.failures import (
    Failure,
    Kind,
    as_error,
    failed_status,
    refuses_structure,
    retry_delay,
)
from backbones.limits import RateLimiter, estimated_tokens
from backbones.prices import cost, prices_of
from backbones.transport import Answer, Transport
from backbones.wire import Completion, Structure, read_completion, request_body
from ocm.errors import BackboneError, Problem, SpecError
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
        failure = answer if isinstance(answer, Failure) else _preflight_failure(answer)
        if failure is not None:
            raise self._error(failure, None, 1)

    async def close(self) -> None:
        """Close connections. May be called twice."""
        await self._transport.close()

    async def _try(self, request: Request, structure: Structure) -> Completion | Failure:
        body = json.dumps(request_body(self._spec, request, structure)).encode()
        entry = await self._limiter.acquire(estimated_tokens(request, self._spec.max_tokens))
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


def key_problem(spec: OpenAIBackbone, environ: Mapping[str, str]) -> Problem | None:
    """What is wrong with the key, None if it is there or not needed."""
    if not spec.api_key_env:
        return None
    where = f"backbone {backbone_label(spec)}"
    key = environ.get(spec.api_key_env, "").strip()
    if not key:
        found = f"the environment variable {spec.api_key_env} is not set"
        mend = f'put the key there, or set api_key_env = "" if {spec.base_url} needs no key'
        return Problem(where, found, mend)
    if not (key.isascii() and key.isprintable() and " " not in key):
        found = f"the environment variable {spec.api_key_env} holds blanks or signs that no key has"
        return Problem(where, found, "put the key there, and nothing else")
    return None


def read_key(spec: OpenAIBackbone, environ: Mapping[str, str]) -> str | None:
    """The key, or None for servers without keys.

    Raises:
        SpecError: the variable is not set.
    """
    problem = key_problem(spec, environ)
    if problem is not None:
        raise SpecError(str(problem), [problem])
    return environ[spec.api_key_env].strip() if spec.api_key_env else None


def first_structure(spec: OpenAIBackbone) -> Structure:
    """The way in which a JSON reply is asked for at first."""
    wanted = spec.structured_output
    return Structure.JSON_SCHEMA if wanted == "auto" else Structure(wanted)


def _read(answer: Answer) -> Completion | Failure:
    if answer.status != 200:
        return failed_status(answer.status, answer.headers, answer.body, time.time())
    completion = read_completion(answer.body)
    if isinstance(completion, Completion):
        return completion
    return Failure(Kind.MALFORMED, completion, 200, body=answer.body.decode("utf-8", "replace"))


def _preflight_failure(answer: Answer) -> Failure | None:
    """Only a refused key counts. OpenAI's restricted keys may chat without the scope to list models."""
    if answer.status != 401 or b"issing scope" in answer.body:
        return None
    return failed_status(answer.status, answer.headers, answer.body, time.time())
