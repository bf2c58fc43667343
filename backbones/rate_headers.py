"""What a server tells of its limits in an answer's headers. Pure functions; nonsense is no hint.

Read are OpenAI's names (``x-ratelimit-limit-requests``, ``-remaining-tokens``, ``-reset-requests``; many
other servers use them too) and Anthropic's (``anthropic-ratelimit-requests-limit``, …).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

LARGEST = 10**9
"""A limit above this is none, or a slip."""
LONGEST_RESET = 86_400.0
"""Seconds. A later reset is a slip."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """One limit, of requests or of tokens; what is None was not said."""

    limit: int | None = None
    """Allowed per minute."""
    remaining: int | None = None
    """Still allowed until the reset; only said together with it."""
    reset: float | None = None
    """Seconds until the whole limit is free again."""

    @property
    def is_said(self) -> bool:
        return self.limit is not None or self.remaining is not None


@dataclass(frozen=True, slots=True)
class Hints:
    """What one answer says of both limits."""

    requests: Allowance = Allowance()
    tokens: Allowance = Allowance()

    @property
    def are_said(self) -> bool:
        return self.requests.is_said or self.tokens.is_said

    @property
    def hold_back(self) -> bool:
        """Whether one of the limits is used up."""
        return 0 in (self.requests.remaining, self.tokens.remaining)


NO_HINTS = Hints()


def rate_hints(headers: Mapping[str, str], now: float) -> Hints:
    """The limits as these headers tell them. ``now``: seconds since the epoch; names in any case if the
    mapping is one of a HTTP client, else in lower case."""
    requests, tokens = _allowance(headers, "requests", now), _allowance(headers, "tokens", now)
    return Hints(requests, tokens) if requests.is_said or tokens.is_said else NO_HINTS


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait as ``retry-after-ms`` or ``Retry-After`` (seconds or a date) says, else None."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def seconds_until(value: str | None, now: float) -> float | None:
    """Seconds that a reset is away: ``1s``, ``6m0s``, ``250ms``, a number, or a time as in RFC 3339."""
    if value is None:
        return None
    text = value.strip()
    seconds = _number(text)
    if seconds is None:
        seconds = _duration(text.lower())
    if seconds is None:
        seconds = _until_time(text, now)
    return seconds if seconds is not None and seconds <= LONGEST_RESET else None


def _allowance(headers: Mapping[str, str], what: str, now: float) -> Allowance:
    for pattern in ("x-ratelimit-{part}-{what}", "anthropic-ratelimit-{what}-{part}"):
        said = {part: headers.get(pattern.format(part=part, what=what)) for part in _PARTS}
        limit, remaining = _count(said["limit"]), _count(said["remaining"])
        reset = seconds_until(said["reset"], now)
        if remaining is None or reset is None:
            remaining = reset = None
        if limit or remaining is not None:
            return Allowance(limit or None, remaining, reset)
    return Allowance()


_PARTS = ("limit", "remaining", "reset")


def _count(value: str | None) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number <= LARGEST else None


def _duration(text: str) -> float | None:
    if not text or _PART.sub("", text):
        return None
    return math.fsum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _until_time(text: str, now: float) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else max(0.0, moment.timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
