"""Failures: told apart, worded, timed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backbones.failures import (
    LONGEST_DELAY,
    LONGEST_RETRY_AFTER,
    Failure,
    Kind,
    as_error,
    failed_status,
    refuses_structure,
    retry_delay,
)
from backbones.rate_headers import retry_after
from ocm.errors import BackboneTerminal, BackboneTransient
from ocm.spec import OpenAIBackbone
from ocm.types import Message, Request

SPEC = OpenAIBackbone(model="m", base_url="http://127.0.0.1:1/v1")
REQUEST = Request("reflect", (Message("user", "first"), Message("user", "last " * 500)), None, "c", 2, 5)


def failed(status: int, message: str = "no", code: str | None = None, **headers: str) -> Failure:
    body = json.dumps({"error": {"message": message, "code": code, "type": "t"}}).encode()
    return failed_status(status, headers, body, now=0.0)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_worth_another_try(status: int) -> None:
    assert failed(status).kind.is_transient


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422])
def test_statuses_not_worth_one(status: int) -> None:
    assert not failed(status).kind.is_transient


def test_a_spent_quota_is_not_a_rate_limit() -> None:
    assert failed(429, code="insufficient_quota").kind is Kind.QUOTA
    assert failed(429, code="rate_limit_exceeded").kind is Kind.RATE


@pytest.mark.parametrize("body", [b"", b"<html>\nBad\tGateway</html>", b'{"error": "x"}', b"[1]", b"\xff{"])
def test_any_body_is_read(body: bytes) -> None:
    failure = failed_status(502, {}, body, now=0.0)
    assert failure.reason and "\n" not in failure.reason


@given(st.binary(max_size=100), st.integers(201, 599))
def test_no_body_raises(body: bytes, status: int) -> None:
    as_error(failed_status(status, {}, body, now=0.0), SPEC, REQUEST, 1)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "7", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=10.0) == seconds


@given(st.integers(1, 1000), st.integers())
def test_delays_grow_and_are_bounded(tries: int, seed: int) -> None:
    delay = retry_delay(tries, None, random.Random(seed))
    whole = min(0.5 * 2 ** (tries - 1), LONGEST_DELAY)
    assert whole / 2 <= delay <= whole


@given(st.floats(0, 1e9), st.integers())
def test_the_servers_wish_is_kept_up_to_a_bound(asked: float, seed: int) -> None:
    delay = retry_delay(1, asked, random.Random(seed))
    assert min(asked, LONGEST_RETRY_AFTER) <= delay <= LONGEST_RETRY_AFTER * 1.1


def test_jitter_belongs_to_its_generator() -> None:
    assert retry_delay(3, None, random.Random(1)) == retry_delay(3, None, random.Random(1))
    assert retry_delay(3, None, random.Random(1)) != retry_delay(3, None, random.Random(2))


@pytest.mark.parametrize(
    ("failure", "refuses"),
    [
        (failed(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported"), True),
        (failed(422, "body.response_format: extra fields not permitted"), True),
        (failed(400, "temperature is not supported"), False),
        (failed(500, "json_schema engine crashed"), False),
    ],
)
def test_refused_structures_are_recognised(failure: Failure, refuses: bool) -> None:
    assert refuses_structure(failure) is refuses


@pytest.mark.parametrize(
    ("failure", "mend"),
    [
        (Failure(Kind.UNREACHABLE, "connection refused"), "start it, or set base_url"),
        (Failure(Kind.TIMEOUT, "no answer within 5 s"), "raise timeout"),
        (failed(401), "OPENAI_API_KEY"),
        (failed(404), "check model"),
        (failed(429), "requests_per_minute"),
        (failed(429, code="insufficient_quota"), "credit"),
        (failed(400, "Unsupported value: 'temperature' does not support 0"), "send_temperature = false"),
        (failed(400, "unknown field seed"), "send_seed = false"),
        (failed(400, "Unrecognized: max_completion_tokens"), 'max_tokens_field = "max_tokens"'),
        (failed(400, "too long", code="context_length_exceeded"), "longer context"),
        (failed(400, "who knows"), "settings"),
    ],
)
def test_every_message_is_one_line_with_the_mend(failure: Failure, mend: str) -> None:
    error = as_error(failure, SPEC, REQUEST, 3)
    assert mend in str(error) and "\n" not in str(error)
    assert error.message.startswith("m: ")


def test_an_unreachable_server_is_said_clearly() -> None:
    error = as_error(Failure(Kind.UNREACHABLE, "connection refused"), SPEC, None, 1)
    assert str(error) == (
        "m: no server answers at http://127.0.0.1:1/v1 (connection refused): start it, or set base_url"
    )


def test_details_say_what_was_asked_and_what_came_back() -> None:
    error = as_error(failed(503, "busy " * 1000), SPEC, REQUEST, 8)
    assert isinstance(error, BackboneTransient)
    details: dict[str, Any] = error.details
    asked = {name: details[name] for name in ("purpose", "chain", "episode", "call", "messages", "model")}
    assert asked == {
        "purpose": "reflect",
        "chain": "c",
        "episode": 2,
        "call": 5,
        "messages": 2,
        "model": "m",
    }
    assert details["last_message"].startswith("last") and len(details["last_message"]) < 400
    assert (details["status"], details["attempts"]) == (503, 8) and len(details["body"]) < 700
    assert isinstance(as_error(failed(403), SPEC, REQUEST, 1), BackboneTerminal)
