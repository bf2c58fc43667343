"""Answers to what these rules do not understand: short, in the form asked for, and without content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ocm.identity import canonical_json
from ocm.types import Request

NOTHING = "Nothing to add: these rules only play text environments that they know and keep OCM's memory."


def answer(request: Request) -> str:
    """The emptiest answer of the wanted form: JSON by its schema, an action, or a sentence."""
    if request.schema is not None:
        return canonical_json(_emptiest(request.schema))
    if request.purpose.startswith("act") or any("Action:" in m.content for m in request.messages[:1]):
        return "I do not know this environment, so I look around.\n\nAction: look around"
    return NOTHING


def _emptiest(schema: Mapping[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" or "properties" in schema:
        fields: Mapping[str, Any] = schema.get("properties", {})
        return {name: _emptiest(field) for name, field in fields.items()}
    if kind == "array":
        least = int(schema.get("minItems", 0))
        return [_emptiest(schema.get("items", {})) for _ in range(least)]
    if kind in ("number", "integer"):
        return schema.get("minimum", 0)
    return {"boolean": False, "null": None}.get(str(kind), "")
