"""A JSON object in a reply."""

from __future__ import annotations

import json
import re
from typing import Any

import json_repair

from agents.parsing.text import CUT_OFF, UnreadableReply, strip_thinking

MAX_REPAIRED = 50_000
"""Characters of broken JSON that are worth mending: it costs about 10 µs each."""
MAX_NESTING = 40
_AT_LINE_START = re.compile(r"^[ \t]*+(\{)", re.MULTILINE)


def parse_json(reply: str, finish_reason: str = "stop") -> dict[str, Any]:
    """The JSON object in a reply: bare, in a fence, with prose around it or trailing commas.

    Raises:
        UnreadableReply: there is none, or it was cut off.
    """
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; answer more briefly")
    return read_object(strip_thinking(reply))


def read_object(text: str) -> dict[str, Any]:
    """The first object that begins a line, else the first at all; mended if it is not quite JSON.

    Raises:
        UnreadableReply: there is none.
    """
    starts = [match.start(1) for match in (_AT_LINE_START.search(text),) if match]
    starts += [first] if (first := text.find("{")) >= 0 else []
    if not starts:
        raise UnreadableReply("the reply holds no JSON object")
    if _nesting(text) > MAX_NESTING:
        raise UnreadableReply(f"the JSON is nested more than {MAX_NESTING} levels deep")
    tries = dict.fromkeys(starts)
    found = [*(_strict(text[start:]) for start in tries), *(_mended(text[start:]) for start in tries)]
    value = next((entry for entry in found if entry), None)
    if value is None:
        raise UnreadableReply("the reply holds no readable JSON object")
    return value


def _nesting(text: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _strict(text: str) -> dict[str, Any] | None:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _mended(text: str) -> dict[str, Any] | None:
    if len(text) > MAX_REPAIRED:
        return None
    value = json_repair.loads(text)
    if isinstance(value, list):
        value = next((entry for entry in value if isinstance(entry, dict)), None)
    return value if isinstance(value, dict) else None
