"""Prices, schemas and the wire format: pure functions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from backbones.prices import cost, known_prices, price_table, prices_of
from backbones.schema import strict_schema
from backbones.wire import Completion, Structure, read_completion, request_body, request_seed, valid_text
from ocm.spec import OpenAIBackbone, Prices
from ocm.types import Message, Request, Usage

SCHEMA = {
    "type": "object",
    "properties": {
        "plan": {"type": "array", "items": {"type": "object", "properties": {"why": {"type": "string"}}}}
    },
}
REQUEST = Request("act", (Message("system", "rules"), Message("user", "go")), SCHEMA, "chain", 3, 7)


# --- prices


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"])
def test_snapshots_have_the_price_of_their_model(model: str) -> None:
    assert known_prices(model) == Prices(input=0.4, cached_input=0.1, output=1.6)


def test_a_snapshot_with_a_price_of_its_own_keeps_it() -> None:
    assert known_prices("gpt-4o-2024-05-13") == Prices(input=5.0, output=15.0)
    assert known_prices("gpt-4o-2024-08-06") == known_prices("gpt-4o")


@pytest.mark.parametrize("model", ["gpt-4.1-mini-tuned", "gpt-5.9", "openai/gpt-4o", "gpt-4", "", "llama"])
def test_a_price_is_never_guessed(model: str) -> None:
    assert known_prices(model) is None
    assert cost(Usage(1000, 1000), known_prices(model)) is None


def test_the_table_knows_the_models_that_it_promises() -> None:
    promised = "gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-mini o4-mini gpt-5 gpt-5-mini gpt-5-nano"
    assert set(promised.split()) <= set(price_table())


def test_the_specs_own_prices_win() -> None:
    own = Prices(input=1.0, output=2.0)
    assert prices_of(OpenAIBackbone(model="gpt-4o", prices=own)) == own


def test_cached_tokens_have_their_own_price() -> None:
    usage = Usage(prompt=1_000_000, completion=500_000, cached=400_000, reasoning=100_000)
    assert cost(usage, Prices(input=2, cached_input=0.5, output=8)) == pytest.approx(1.2 + 0.2 + 4.0)
    assert cost(usage, Prices(input=2, output=8)) == pytest.approx(2.0 + 4.0)


# --- schemas

schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"enum": ["a", "b"]}]),
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties, "required": []}
        ),
    ),
    max_leaves=12,
)


@given(schemas)
def test_strict_schemas_are_those_of_the_openai_package(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    strict = strict_schema(schema)
    theirs = json.loads(before)
    assert strict == _ensure_strict_json_schema(theirs, path=(), root=theirs)
    assert json.dumps(schema) == before
    assert strict is not None and strict_schema(strict) == strict


@pytest.mark.parametrize(
    "free",
    [{"type": "object"}, {"type": "object", "additionalProperties": {"type": "string"}}],
)
def test_objects_with_free_names_are_not_strict(free: dict[str, Any]) -> None:
    assert strict_schema(free) is None
    assert strict_schema({"type": "object", "properties": {"files": free}}) is None


def test_definitions_are_closed_too() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"b": {}}}}}
    strict = strict_schema(schema)
    assert strict is not None and strict["$defs"]["a"]["additionalProperties"] is False


# --- requests


def test_the_body_holds_what_the_spec_sets_and_nothing_else() -> None:
    spec = OpenAIBackbone(model="m", send_seed=False, send_temperature=False, max_tokens=None)
    assert set(request_body(spec, REQUEST, Structure.NONE)) == {"model", "messages"}
    spec = OpenAIBackbone(model="m", max_tokens=9, max_tokens_field="max_tokens", top_p=0.5)
    body = request_body(spec, REQUEST, Structure.JSON_SCHEMA)
    assert (body["max_tokens"], body["top_p"], body["temperature"]) == (9, 0.5, 0.0)
    assert "max_completion_tokens" not in body


@given(st.text(st.characters(exclude_categories=())))
def test_texts_become_valid_and_valid_ones_stay(text: str) -> None:
    valid = valid_text(text)
    assert valid_text(valid) == valid == valid.encode().decode()
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        assert valid == text


def test_two_halves_become_one_sign() -> None:
    assert valid_text("\ud83d\ude00 \ude00\ud83d") == "\U0001f600 \ufffd\ufffd"


def test_every_field_is_one_of_chat_completions() -> None:
    spec = OpenAIBackbone(model="m", top_p=0.5, reasoning_effort="low")
    fields = set(request_body(spec, REQUEST, Structure.JSON_SCHEMA))
    assert fields <= set(CompletionCreateParamsNonStreaming.__annotations__) | {"model", "messages"} | set(
        CompletionCreateParamsNonStreaming.__mro__[0].__annotations__
    )


def test_response_formats() -> None:
    spec = OpenAIBackbone(model="m")
    wanted = request_body(spec, REQUEST, Structure.JSON_SCHEMA)["response_format"]
    assert wanted["json_schema"]["name"] == "act"
    assert wanted["json_schema"]["strict"] is True
    free_names = Request("act", REQUEST.messages, {"type": "object"})
    loose = request_body(spec, free_names, Structure.JSON_SCHEMA)["response_format"]["json_schema"]
    assert (loose["strict"], loose["schema"]) == (False, {"type": "object"})
    assert request_body(spec, REQUEST, Structure.JSON_OBJECT)["response_format"] == {"type": "json_object"}
    assert "response_format" not in request_body(spec, REQUEST, Structure.NONE)
    free = Request("act", REQUEST.messages)
    assert "response_format" not in request_body(spec, free, Structure.JSON_SCHEMA)


def test_the_seed_belongs_to_the_call() -> None:
    other = Request("act", REQUEST.messages, None, "chain", 3, 8)
    assert request_seed(REQUEST) != request_seed(other)
    assert request_seed(REQUEST) == request_seed(Request("other", (), None, "chain", 3, 7))
    assert 0 <= request_seed(REQUEST) < 2**31


# --- replies


def reply(**changes: Any) -> bytes:
    whole = {
        "model": "m-2025",
        "system_fingerprint": "fp",
        "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }
    return json.dumps({**whole, **changes}).encode()


def read(**changes: Any) -> Completion:
    completion = read_completion(reply(**changes))
    assert isinstance(completion, Completion)
    return completion


def message(content: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"message": {"content": content, **more}, "finish_reason": "length"}]


def test_a_whole_reply() -> None:
    completion = read()
    assert (completion.text, completion.finish_reason, completion.model) == ("hi", "stop", "m-2025")
    assert completion.usage == Usage(prompt=10, completion=5, cached=4, reasoning=3)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}], "hi"),
        ([], ""),
    ],
)
def test_contents_of_all_kinds(content: Any, text: str) -> None:
    completion = read(choices=message(content, reasoning_content="secret thoughts"))
    assert (completion.text, completion.finish_reason) == (text, "length")


def test_missing_fields_are_forgiven() -> None:
    body = b'{"choices": [{"message": {"content": "hi"}}], "usage": null, "id": 5, "created": "x"}'
    completion = read_completion(body)
    assert isinstance(completion, Completion)
    assert (completion.text, completion.usage, completion.finish_reason) == ("hi", None, "unknown")


def test_odd_token_details_stay_within_bounds() -> None:
    details = {"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": {"cached_tokens": 9}}
    assert read(usage=details).usage == Usage(prompt=3, cached=3)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b'{"error": {"message": "x"}}'],
)
def test_what_is_no_completion_is_said_in_words(body: bytes) -> None:
    words = read_completion(body)
    assert isinstance(words, str) and words


@given(st.binary(max_size=200))
def test_no_body_raises(body: bytes) -> None:
    read_completion(body)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["message", "content", "type", "text"]), inner, max_size=3)
        ),
    )
)
def test_no_choices_raise(choices: Any) -> None:
    read_completion(reply(choices=choices))
