"""What servers say of their limits, read from headers; nonsense is no hint."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backbones.rate_headers import (
    LARGEST,
    LONGEST_RESET,
    NO_HINTS,
    Allowance,
    Hints,
    rate_hints,
    seconds_until,
)

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z

OPENAI = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-limit-tokens": "200000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "6m0s",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2023-11-14T22:13:50Z",
    "anthropic-ratelimit-tokens-limit": "40000",
}


def test_openais_headers() -> None:
    found = rate_hints(OPENAI, NOW)
    assert found == Hints(Allowance(500, 499, 0.12), Allowance(200_000, 0, 360.0))
    assert found.are_said and found.hold_back


def test_anthropics_headers() -> None:
    assert rate_hints(ANTHROPIC, NOW) == Hints(Allowance(50, 0, 30.0), Allowance(40_000))


def test_without_headers_nothing_is_said() -> None:
    assert rate_hints({"content-type": "application/json"}, NOW) is NO_HINTS and not NO_HINTS.hold_back


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("250ms", 0.25),
        ("1h2m3.5s", 3723.5),
        ("1d", 86400.0),
        ("12", 12.0),
        ("2023-11-14T22:13:21+00:00", 1.0),
        ("2023-11-14T23:13:21+01:00", 1.0),
        ("2023-11-14T22:13:19Z", 0.0),
        ("2023-11-14T22:13:21", None),  # of which zone?
        ("2033-11-14T22:13:21Z", None),
        ("99h", None),
        ("-5", None),
        ("-1s", None),
        ("1s ago", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("", None),
        (None, None),
    ],
)
def test_resets(text: str | None, seconds: float | None) -> None:
    assert seconds_until(text, NOW) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize("limit", ["-1", "0", "many", "nan", "1e300", "", "99999999999"])
def test_a_limit_that_is_none_is_ignored(limit: str) -> None:
    assert rate_hints({"x-ratelimit-limit-requests": limit}, NOW) is NO_HINTS


@pytest.mark.parametrize("part", ["remaining", "reset"])
def test_what_is_left_counts_only_with_its_reset(part: str) -> None:
    headers = {f"x-ratelimit-{other}-tokens": "0" for other in ("remaining", "reset") if other != part}
    assert rate_hints(headers, NOW) is NO_HINTS


names = st.sampled_from([*OPENAI, *ANTHROPIC])


@settings(deadline=None)  # machines may be busy
@given(st.dictionaries(names, st.text(max_size=12) | st.floats().map(str) | st.sampled_from(["0", "1s"])))
def test_no_headers_raise_and_hints_are_sane(headers: Mapping[str, str]) -> None:
    found = rate_hints(headers, NOW)
    for allowance in (found.requests, found.tokens):
        assert allowance.limit is None or 1 <= allowance.limit <= LARGEST
        assert (allowance.remaining is None) == (allowance.reset is None)
        assert allowance.reset is None or 0 <= allowance.reset <= LONGEST_RESET
