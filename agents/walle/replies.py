"""What the three learning requests are answered with: JSON of a known shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from agents.parsing import UnreadableReply, parse_json, without_surrogates
from ocm.types import Reply

WORDS = 400
"""Characters kept of a rule or a check in words."""


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Prediction(_Read):
    number: int
    success: bool


class Predictions(_Read):
    predictions: tuple[Prediction, ...]


class MinedRule(_Read):
    rule: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    check: str = ""
    improves: str = ""


class Mined(_Read):
    conflicting: tuple[str, ...] = ()
    rules: tuple[MinedRule, ...]


class Function(_Read):
    number: int
    code: str


class Functions(_Read):
    functions: tuple[Function, ...]


Shape = TypeVar("Shape", bound=BaseModel)


def reader(shape: type[Shape], fits: Callable[[Shape], bool], unfit: str) -> Callable[[Reply], Shape]:
    """A function that reads a reply of this shape.

    It raises :class:`UnreadableReply` where the reply has another one, or does not fit: ``unfit`` says why.
    """

    def read(reply: Reply) -> Shape:
        try:
            value = shape.model_validate(_writable(parse_json(reply.text, reply.finish_reason)))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the whole"
            raise UnreadableReply(f"field `{field}`: {first['msg']}") from error
        if not fits(value):
            raise UnreadableReply(unfit)
        return value

    return read


def _writable(value: Any) -> Any:
    """The value without empty fields, and without halves of surrogate pairs, which no file can hold."""
    text = without_surrogates(json.dumps(value, ensure_ascii=False))
    return json.loads(text, object_hook=_filled)


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: entry for name, entry in fields.items() if entry is not None}


def words(text: str) -> str:
    """A model's sentence as a memory keeps it: one line, bounded."""
    return " ".join(text.split())[:WORDS]


def unfenced(code: str) -> str:
    """Code without the fence that models put around it even in JSON."""
    lines = code.strip().splitlines()
    is_fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1].startswith("```")
    return "\n".join(lines[1:-1]) if is_fenced else code


# --- what servers with structured output are asked for -----------------------------------------


def _closed(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    required = list(properties)
    return {
        "type": "object",
        **more,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _closed(properties)}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
PREDICTIONS = _closed(
    {"predictions": _list_of({"number": _NUMBER, "why": _TEXT, "success": {"type": "boolean"}})},
    title="predictions",
)
MINED = _closed(
    {
        "verified": {"type": "array", "items": _TEXT},
        "conflicting": {"type": "array", "items": _TEXT},
        "rules": _list_of({"rule": _TEXT, "check": _TEXT, "improves": _TEXT}),
    },
    title="rules",
)
FUNCTIONS = _closed({"functions": _list_of({"number": _NUMBER, "code": _TEXT})}, title="functions")
