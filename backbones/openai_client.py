"""A chat model behind an OpenAI-compatible server: chat completions with one retry loop.

The ``openai`` package sends the requests (:mod:`backbones.transport`). Its own retries are off: ours know
a spent quota from a rate limit, pause the same in equal runs, and count every request.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from backbones.breaker import Breaker, Step
from backbones.failures import Failure, Kind, as_down, as_error, refuses_structure, retry_delay
from backbones.idempotency import idempotency_key
from backbones.keys import read_key
from backbones.limits import Entry, RateLimiter, estimated_tokens, window_path
from backbones.prices import cost, prices_of
from backbones.rate_headers import Hints
from backbones.transport import Transport
from backbones.wire import Completion, Structure, read_completion, request_body
from ocm.errors import BackboneError
from ocm.identity import generator
from ocm.spec import OpenAIBackbone, backbone_label
from ocm.types import Reply, Request, Usage

PREFLIGHT_SECONDS = 10.0

ANSWERS = frozenset({Kind.REFUSED, Kind.KEY})
"""Failures by which a server shows that it is up."""
ENDS_AT_ONCE = ANSWERS | {Kind.QUOTA}
"""Failures that end a request even if the server seems to be down."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Tries:
    """What has become of one request so far."""

    jitter: random.Random
    sent: int = 0
    failed: int = 0
    """Failed tries since the server was last known to be down."""
    malformed: int = 0
    replies_when_down: int | None = None
    """How many replies the backbone had had when this request took it to be down."""


class OpenAIClient:
    """Answers requests of all chains of one event loop over one connection pool.

    ``environ``: where the key is looked up. ``limits``: the folder in which processes count their requests
    together; None: this process counts alone. ``tell`` is given lines for the person at the terminal, by
    default they are logged. ``sleep`` and ``clock`` are replaced in tests.

    Where the server refuses a ``response_format``, requests step down from ``json_schema`` to
    ``json_object`` to none, and stay there; a refused one does not count as a failed try.

    A server that is down is not asked by every request: see :mod:`backbones.breaker`. A request that fails
    for all its tries while the server answers others fails alone.

    A reply without usage has zero tokens and no cost. ``latency`` counts from the call of
    :meth:`complete`, waiting for a connection, the rate limits and the server's return included.

    Raises:
        SpecError: the key's environment variable is not set.
    """

    def __init__(
        self,
        spec: OpenAIBackbone,
        environ: Mapping[str, str],
        *,
        limits: Path | None = None,
        tell: Callable[[str], None] | None = None,
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
            spec.requests_per_minute,
            spec.tokens_per_minute,
            path=None if limits is None else window_path(limits, spec),
            name=self.label,
            sleep=sleep,
            clock=None if clock is time.monotonic else clock,
        )
        self._breaker = Breaker(
            self.label, spec.patience_minutes * 60, tell or log.warning, sleep=sleep, clock=clock
        )
        self._prices = prices_of(spec)
        self._structure = first_structure(spec)

    async def complete(self, request: Request) -> Reply:
        """Answer one request; see :class:`backbones.protocol.Backbone`."""
        started = self._clock()
        tries = _Tries(generator("retry", request.chain, request.episode, request.call))
        while True:
            structure = self._structure
            outcome = await self._try(request, structure, tries)
            if isinstance(outcome, Completion):
                return self._reply(outcome, self._clock() - started, tries.sent)
            if not self._steps_down(request, outcome, structure):
                await self._after_failure(outcome, request, tries)

    async def preflight(self) -> None:
        """Ask for the list of models, which costs nothing, to learn of a wrong address or key early.

        Passes if the server has no such list, or is only busy.

        Raises:
            BackboneTransient: no server answers.
            BackboneTerminal: the key is refused.
        """
        answer = await self._transport.get("/models", min(PREFLIGHT_SECONDS, self._spec.timeout))
        if isinstance(answer, Failure) and _stops_a_sweep(answer):
            raise as_error(answer, self._spec, None, 1)

    async def close(self) -> None:
        """Close connections. May be called twice."""
        await self._limiter.close()
        await self._transport.close()

    async def _try(self, request: Request, structure: Structure, tries: _Tries) -> Completion | Failure:
        """One request to the server, when it may be sent."""
        body = request_body(self._spec, request, structure)
        key = idempotency_key(request, body, tries.malformed)
        while True:
            is_probe = await self._turn(request, tries) is Step.PROBE
            failure: Failure | None = None
            try:
                async with self._admitted(request, is_probe) as entry:
                    if entry is None:
                        continue
                    tries.sent += 1
                    answer = await self._transport.post("/chat/completions", body, key)
                    outcome = answer if isinstance(answer, Failure) else _read(answer.body)
                    await self._tell_limiter(outcome, answer.hints, entry, tries)
                failure = self._tell_breaker(outcome)
                return outcome
            finally:
                if is_probe:
                    self._breaker.probed(failure)

    async def _turn(self, request: Request, tries: _Tries) -> Step:
        waits = self._breaker.holds_back
        step = await self._breaker.turn()
        if step is Step.GIVE_UP:
            raise self._down(request, tries.sent)
        if waits:
            tries.failed = 0  # what failed while the server was down says nothing of this request
        return step

    @asynccontextmanager
    async def _admitted(self, request: Request, is_probe: bool) -> AsyncIterator[Entry | None]:
        """A connection and a place within the limits; None if the server went down before both were there."""
        async with self._transport.turn():
            entry = await self._limiter.acquire(estimated_tokens(request, self._spec.max_tokens))
            if self._breaker.holds_back and not is_probe:
                await self._limiter.withdraw(entry)
                yield None
            else:
                yield entry

    async def _tell_limiter(
        self, outcome: Completion | Failure, hints: Hints, entry: Entry, tries: _Tries
    ) -> None:
        usage = outcome.usage if isinstance(outcome, Completion) else None
        await self._limiter.answered(entry, None if usage is None else usage.prompt + usage.completion, hints)
        if not isinstance(outcome, Failure) or not _closes_the_gate(outcome):
            return
        if outcome.retry_after is not None:
            await self._limiter.pause(retry_delay(1, outcome.retry_after, tries.jitter))
        elif not hints.hold_back:
            await self._limiter.back_off(entry)

    def _tell_breaker(self, outcome: Completion | Failure) -> Failure | None:
        """The failure, if it shows the server to be down still."""
        if isinstance(outcome, Failure) and outcome.kind not in ANSWERS:
            self._breaker.failed(outcome)
            return outcome
        self._breaker.answered()
        return None

    async def _after_failure(self, failure: Failure, request: Request, tries: _Tries) -> None:
        """Wait as long as is due before the next try.

        Raises:
            BackboneError: no other try is due.
        """
        tries.malformed += failure.kind is Kind.MALFORMED
        if self._breaker.holds_back and failure.kind not in ENDS_AT_ONCE:
            return
        if not failure.kind.is_transient:
            raise as_error(failure, self._spec, request, tries.sent)
        tries.failed += 1
        if tries.failed >= self._spec.max_attempts:
            if self._fails_alone(failure, tries):
                raise as_error(failure, self._spec, request, tries.sent)
            tries.replies_when_down = self._breaker.replies
            self._breaker.open()
        elif not _closes_the_gate(failure) or failure.retry_after is None:
            await self._sleep(retry_delay(tries.failed, failure.retry_after, tries.jitter))

    def _fails_alone(self, failure: Failure, tries: _Tries) -> bool:
        """Whether a request without tries left says nothing of the server: that it answers others, or has
        answered since this request thought it to be down."""
        seen = tries.replies_when_down
        if failure.kind is Kind.MALFORMED or (seen is not None and self._breaker.replies > seen):
            return True
        return self._breaker.failures + tries.malformed < self._spec.max_attempts

    def _down(self, request: Request, sent: int) -> BackboneError:
        circuit = self._breaker.circuit
        failure = circuit.spent or circuit.last or Failure(Kind.SERVER, "no reply")
        if circuit.spent is not None:
            return as_error(failure, self._spec, request, sent)
        return as_down(failure, self._spec, request, sent, self._breaker.since())

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


def first_structure(spec: OpenAIBackbone) -> Structure:
    """The way in which a JSON reply is asked for at first."""
    wanted = spec.structured_output
    return Structure.JSON_SCHEMA if wanted == "auto" else Structure(wanted)


def _read(body: bytes) -> Completion | Failure:
    completion = read_completion(body)
    if isinstance(completion, Completion):
        return completion
    return Failure(Kind.MALFORMED, completion, 200, body=body.decode("utf-8", "replace"))


def _closes_the_gate(failure: Failure) -> bool:
    """Whether a server asks with a failure that all requests wait."""
    asks = failure.retry_after is not None and failure.status == 503
    return failure.kind is Kind.RATE or asks


def _stops_a_sweep(failure: Failure) -> bool:
    """Of answers, only a refused key. OpenAI's restricted keys may chat without the scope to list models."""
    return failure.status is None or (failure.status == 401 and "issing scope" not in failure.body)
