"""Chat completions on the wire: a request as JSON, and a reply read from JSON. Pure functions.

Only fields that the project uses are read, and missing ones are forgiven where other servers than
OpenAI's leave them out. Reasoning text (``reasoning_content``, parts of type ``thinking``) is not
part of the reply's text.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from backbones.schema import strict_schema
from ocm.identity import derive_seed
from ocm.spec import OpenAIBackbone
from ocm.types import Request, Usage

SEEDS = 2**31
"""Seeds on the wire are smaller than this: some servers read them as 32-bit integers."""


class Structure(StrEnum):
    """How a JSON reply is asked for, strongest first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"
    """In words only: the prompts say which JSON they want."""

    @property
    def weaker(self) -> Structure | None:
        """The next weaker kind, None after the last."""
        kinds = list(Structure)
        place = kinds.index(self) + 1
        return kinds[place] if place < len(kinds) else None


def request_body(spec: OpenAIBackbone, request: Request, structure: Structure) -> dict[str, Any]:
    """The JSON of ``POST /chat/completions``. Fields without a value are left out."""
    optional = {
        "temperature": _temperature(spec, request),
        "top_p": spec.top_p,
        spec.max_tokens_field: spec.max_tokens,
        "reasoning_effort": spec.reasoning_effort,
        "seed": request_seed(request) if spec.send_seed else None,
        "response_format": _response_format(request, structure),
    }
    messages = [
        {"role": message.role, "content": valid_text(message.content)} for message in request.messages
    ]
    given = {name: value for name, value in optional.items() if value is not None}
    return {"model": spec.model, "messages": messages, **given}


def _temperature(spec: OpenAIBackbone, request: Request) -> float | None:
    """A call's own comes before the backbone's; None for models that take none."""
    if not spec.send_temperature:
        return None
    return spec.temperature if request.temperature is None else request.temperature


def valid_text(text: str) -> str:
    """Text that is valid in UTF-8.

    Models write half of a surrogate pair at times; sent on, it would end the chain, since servers refuse
    such JSON. U+FFFD stands in for it.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def request_seed(request: Request) -> int:
    """A seed for one call, in [0, 2**31)."""
    return derive_seed(request.chain, request.episode, request.call) % SEEDS


def _response_format(request: Request, structure: Structure) -> dict[str, Any] | None:
    if request.schema is None or structure is Structure.NONE:
        return None
    if structure is Structure.JSON_OBJECT:
        return {"type": "json_object"}
    strict = strict_schema(request.schema)
    schema = dict(request.schema) if strict is None else strict
    name = re.sub(r"[^A-Za-z0-9_-]", "_", request.purpose)[:64] or "reply"
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": schema, "strict": strict is not None},
    }


def _text(content: Any) -> Any:
    """Some servers send a list of parts; only parts of type ``text`` are said to the user."""
    if not isinstance(content, list):
        return content or ""
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(str(part.get("text", "")) for part in parts)


def _or_zero(value: Any) -> Any:
    return 0 if value is None else value


_Count = Annotated[int, BeforeValidator(_or_zero), Field(ge=0)]


class _Message(BaseModel):
    content: Annotated[str, BeforeValidator(_text)] = ""


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: _Count = 0


class _CompletionDetails(BaseModel):
    reasoning_tokens: _Count = 0


class _Usage(BaseModel):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None

    def as_usage(self) -> Usage:
        prompt, completion = self.prompt_tokens, self.completion_tokens
        cached = self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0
        details = self.completion_tokens_details
        reasoning = details.reasoning_tokens if details else 0
        return Usage(prompt, completion, min(cached, prompt), min(reasoning, completion))


class Completion(BaseModel):
    """What is read of a chat completion."""

    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    system_fingerprint: str | None = None
    reported_usage: _Usage | None = Field(default=None, alias="usage")

    @property
    def text(self) -> str:
        return self.choices[0].message.content

    @property
    def finish_reason(self) -> str:
        """``stop``, ``length``, ``content_filter``, …, or ``unknown`` where the server says nothing."""
        return self.choices[0].finish_reason or "unknown"

    @property
    def usage(self) -> Usage | None:
        """None if the server reports no usage."""
        return self.reported_usage.as_usage() if self.reported_usage else None


def read_completion(body: bytes) -> Completion | str:
    """The chat completion in a body, or in words why it is none."""
    try:
        return Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}" if where else first["msg"]
