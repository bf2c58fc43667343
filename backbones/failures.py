"""What may go wrong with a request: told apart, put in words with the mend, and timed for a retry.

Pure functions. A failure is first data (:class:`Failure`), and becomes an error only when no try is
left (:func:`as_error`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from backbones.rate_headers import NO_HINTS, Hints, rate_hints, retry_after
from ocm.errors import BackboneDown, BackboneError, BackboneTerminal, BackboneTransient
from ocm.spec import OpenAIBackbone
from ocm.types import Request

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_RETRY_AFTER = 120.0
"""Seconds. A server that asks for a longer pause is asked again after this one."""

BODY_EXCERPT = 600
MESSAGE_EXCERPT = 300
"""Characters kept in an error's details."""

GOES_ON = "the same command goes on where this one stopped"

RETRIED_STATUSES = frozenset({408, 409, 429})
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})

_E = TypeVar("_E", bound=BackboneError)


class Kind(Enum):
    """What went wrong; the value tells whether another try may succeed."""

    UNREACHABLE = ("unreachable", True)
    TIMEOUT = ("timeout", True)
    BROKEN = ("broken connection", True)
    MALFORMED = ("malformed reply", True)
    SERVER = ("server error", True)
    RATE = ("rate limit", True)
    QUOTA = ("quota", False)
    KEY = ("key refused", False)
    UNKNOWN = ("not found", False)
    REFUSED = ("request refused", False)
    TLS = ("certificate", False)
    ADDRESS = ("address", False)

    @property
    def is_transient(self) -> bool:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed try."""

    kind: Kind
    reason: str
    """The server's or the operating system's words, on one line."""
    status: int | None = None
    code: str = ""
    """The server's own error code, such as ``insufficient_quota``."""
    body: str = ""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    hints: Hints = NO_HINTS
    """What it says of its limits."""


def failed_status(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Failure:
    """The failure that a status other than 200 stands for. ``now``: seconds since the epoch."""
    text = body.decode("utf-8", "replace")
    message, codes = _server_error(text)
    kind = _kind(status, codes)
    reason = one_line(message or text) or "no text"
    code = next((code for code in codes if code), "")
    return Failure(kind, reason, status, code, text, retry_after(headers, now), rate_hints(headers, now))


def refuses_structure(failure: Failure) -> bool:
    """Whether a request was refused for its ``response_format``."""
    words = f"{failure.reason} {failure.body}".lower()
    names = ("response_format", "json_schema", "json_object", "structured output", "guided_json")
    return failure.status in (400, 422) and any(name in words for name in names)


def retry_delay(tries: int, asked: float | None, jitter: random.Random) -> float:
    """Seconds before the next try, after so many failed ones.

    Doubles from 0.5 to 30 s, less up to half of it by chance, so that chains that failed together do
    not come back together. If the server asks for a pause, that one, up to 120 s, and up to a tenth more.
    """
    chance = jitter.random()
    if asked is not None:
        return min(asked, LONGEST_RETRY_AFTER) * (1 + chance / 10)
    return min(FIRST_DELAY * 2.0 ** min(tries - 1, 32), LONGEST_DELAY) * (1 - chance / 2)


def as_error(failure: Failure, spec: OpenAIBackbone, request: Request | None, attempts: int) -> BackboneError:
    """The error to raise, with what was asked and what came back."""
    tries = f" after {attempts} tries" if attempts > 1 else ""
    if failure.kind is Kind.QUOTA:
        return _error(BackboneDown, failure, spec, request, attempts, "", f"; {GOES_ON}")
    kind = BackboneTransient if failure.kind.is_transient else BackboneTerminal
    return _error(kind, failure, spec, request, attempts, tries, "")


def as_down(
    failure: Failure, spec: OpenAIBackbone, request: Request | None, attempts: int, since: str
) -> BackboneDown:
    """The error to raise when a server is not waited for any longer. ``since``: a time of day.

    ``attempts``: how often this request was sent, which may be never.
    """
    return _error(BackboneDown, failure, spec, request, attempts, f", down since {since}", f"; {GOES_ON}")


def _error(
    kind: type[_E],
    failure: Failure,
    spec: OpenAIBackbone,
    request: Request | None,
    attempts: int,
    when: str,
    end: str,
) -> _E:
    way = mend(failure, spec).removesuffix(f"; {GOES_ON}")
    return kind(
        f"{spec.model}: {_finding(failure, spec)}{when}: {way}{end}",
        model=spec.model,
        base_url=spec.base_url,
        attempts=attempts,
        kind=failure.kind.value[0],
        status=failure.status,
        code=failure.code,
        body=excerpt(failure.body, BODY_EXCERPT),
        **(_asked(request) if request else {}),
    )


def excerpt(text: str, length: int) -> str:
    """A text's beginning, with a mark where something is left out."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"


def one_line(text: str, length: int = 240) -> str:
    """A text on one line, cut."""
    return excerpt(" ".join(text.split()), length)


def _asked(request: Request) -> dict[str, Any]:
    last = request.messages[-1].content if request.messages else ""
    return {
        "purpose": request.purpose,
        "chain": request.chain,
        "episode": request.episode,
        "call": request.call,
        "messages": len(request.messages),
        "last_message": excerpt(last, MESSAGE_EXCERPT),
    }


def _finding(failure: Failure, spec: OpenAIBackbone) -> str:
    match failure.kind:
        case Kind.UNREACHABLE:
            return f"no server answers at {spec.base_url} ({failure.reason})"
        case Kind.MALFORMED:
            return f"{spec.base_url} sent no chat completion ({failure.reason})"
        case _ if failure.status is None:
            return f"{spec.base_url}: {failure.reason}"
        case _:
            return f"{spec.base_url} answered {failure.status} ({failure.reason})"


def mend(failure: Failure, spec: OpenAIBackbone) -> str:
    """What a user can do about it."""
    key = f"the key in {spec.api_key_env}"
    match failure.kind:
        case Kind.UNREACHABLE:
            return "start it, or set base_url"
        case Kind.TIMEOUT:
            return "raise timeout, or lower max_tokens"
        case Kind.BROKEN | Kind.SERVER:
            return f"look at the server's log; {GOES_ON}"
        case Kind.MALFORMED:
            return "check that base_url is an OpenAI-compatible server, with /v1 where it has one"
        case Kind.RATE:
            return "set requests_per_minute and tokens_per_minute to the account's limits"
        case Kind.QUOTA:
            return f"add credit to the account of {key}, or use another"
        case Kind.KEY:
            wrong = f"check {key}, and that it may use this model"
            return wrong if spec.api_key_env else "name the variable that holds the key in api_key_env"
        case Kind.UNKNOWN:
            return "check model, and base_url (with /v1 where the server has one)"
        case Kind.TLS:
            return "check base_url, or name the authority's file in SSL_CERT_FILE"
        case Kind.ADDRESS:
            return "set base_url to an address such as http://127.0.0.1:8000/v1"
        case Kind.REFUSED:
            return _refused_mend(f"{failure.reason} {failure.code}".lower(), spec)


def _refused_mend(words: str, spec: OpenAIBackbone) -> str:
    other = "max_tokens" if spec.max_tokens_field == "max_completion_tokens" else "max_completion_tokens"
    hints = {
        "temperature": "set send_temperature = false",
        "context_length": "the prompt is too long for this model: use one with a longer context",
        "context length": "the prompt is too long for this model: use one with a longer context",
        "response_format": 'set structured_output = "auto" or "none"',
        spec.max_tokens_field: f'set max_tokens_field = "{other}", or change max_tokens',
        "reasoning_effort": "leave reasoning_effort out",
        "top_p": "leave top_p out",
        "seed": "set send_seed = false",
    }
    found = [hint for word, hint in hints.items() if word in words]
    return found[0] if found else "change the backbone's settings to what this server accepts"


def _kind(status: int, codes: tuple[str, ...]) -> Kind:
    if QUOTA_CODES.intersection(codes):
        return Kind.QUOTA
    if status == 429:
        return Kind.RATE
    if status in RETRIED_STATUSES or status >= 500:
        return Kind.SERVER
    if 300 <= status < 400:
        return Kind.UNKNOWN
    return {401: Kind.KEY, 403: Kind.KEY, 404: Kind.UNKNOWN}.get(status, Kind.REFUSED)


def _server_error(text: str) -> tuple[str, tuple[str, ...]]:
    """Message and (code, type) as OpenAI, and with less detail others, word an error."""
    try:
        body = json.loads(text)
    except ValueError:
        return "", ()
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error), ()
    message = error.get("message") or error.get("detail") or ""
    return str(message), (str(error.get("code") or ""), str(error.get("type") or ""))
