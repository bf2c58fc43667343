"""JSON schemas as strict structured output wants them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NESTED_MAPS = ("properties", "$defs", "definitions")
_NESTED_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A copy in which every object is closed and all its properties are required.

    None if strict mode cannot say it: an object whose property names are free. The schema given is
    left as it is. Strict schemas come back unchanged.
    """
    return _closed(dict(schema)) if not _has_free_names(schema) else None


def _closed(node: Any) -> Any:
    if not isinstance(node, Mapping):
        return node
    closed = dict(node)
    for key in _NESTED_MAPS:
        if isinstance(closed.get(key), Mapping):
            closed[key] = {name: _closed(child) for name, child in closed[key].items()}
    for key in _NESTED_LISTS:
        if isinstance(closed.get(key), list):
            closed[key] = [_closed(child) for child in closed[key]]
    if "items" in closed:
        closed["items"] = _closed(closed["items"])
    if _is_object(closed):
        closed["required"] = list(closed.get("properties", {}))
        closed["additionalProperties"] = False
    return closed


def _is_object(node: Mapping[str, Any]) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _has_free_names(node: Any) -> bool:
    if not isinstance(node, Mapping):
        return False
    free = _is_object(node) and (
        isinstance(node.get("additionalProperties"), Mapping)
        or "patternProperties" in node
        or ("properties" not in node and node.get("additionalProperties") is not False)
    )
    return free or any(_has_free_names(child) for child in _children(node))


def _children(node: Mapping[str, Any]) -> list[Any]:
    maps = [node[key] for key in _NESTED_MAPS if isinstance(node.get(key), Mapping)]
    lists = [node[key] for key in _NESTED_LISTS if isinstance(node.get(key), list)]
    return [child for entry in maps for child in entry.values()] + sum(lists, [node.get("items")])
