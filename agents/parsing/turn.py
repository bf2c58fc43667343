"""An acting turn: a thought, then ``Action: …`` or ``Inspect[…]``.

After the conventions of ReAct's HotpotQA loop (ysymyth/ReAct): the first action wins, and what a model
imagines after it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.parsing.json_object import read_object
from agents.parsing.text import CUT_OFF, FENCE, MARKUP, UnreadableReply, lines_of, strip_thinking
from ocm.types import TurnKind

MAX_NAMES = 20
"""Names that one inspect request may hold."""

_ACTION = re.compile(rf"(?:{MARKUP}action[ \t]*+\d*+[\s*_`]*+[:：])++(?P<rest>.*)", re.IGNORECASE)
_ACTION_HEADING = re.compile(r"\s*+#++[ \t]*+\**+action[ \t]*+\d*+\**+\s*+$", re.IGNORECASE)
_LABEL = re.compile(rf"{MARKUP}(?:action|thoughts?|observation)[ \t]*+\d*+[\s*_`]*+[:：]", re.IGNORECASE)
_THOUGHT = re.compile(
    rf"{MARKUP}thoughts?[ \t]*+\d*+[\s*_`]*+[:：][\s*_`]*+(?!{MARKUP}action[\s\d*_`]*+[:：])", re.IGNORECASE
)
_INSPECT = re.compile(
    rf"{MARKUP}inspect[ \t]*+:?[ \t]*+"
    r"(?:\[(?P<square>[^\[\]]*+)(?P<end>\]?)|\((?P<round>[^()\[\]]*+(?:\([^()\[\]]*+\)[^()\[\]]*+)*+)\))",
    re.IGNORECASE,
)
_WRAPPING = " \t\r\n\f\v*`"
_PAIRS = {'"': '"', "'": "'", "“": "”", "‘": "’", "<": ">"}


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """One turn as read. ``content`` is the action, the names, or why the reply is malformed."""

    kind: TurnKind
    thought: str
    content: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """An action or a request in the lines of a reply."""

    text: str
    last_line: int
    request: re.Match[str] | None = None
    """The inspect request that ``text`` is, if it is one."""


def parse_turn(reply: str, finish_reason: str = "stop") -> ParsedTurn:
    """Read one acting reply: its first action or inspect request, and the thought before it."""
    text = strip_thinking(reply)
    if not text:
        return _malformed("", _why_empty(reply, finish_reason))
    lines = lines_of(text)
    for number in range(len(lines)):
        found = _request_at(lines, number) or _action_at(lines, number)
        if found:
            at_end = finish_reason == CUT_OFF and found.last_line == len(lines) - 1
            return _turn(_thought(lines[:number]), found, at_end)
    return _json_turn(text) or _malformed(text, _why_no_action(finish_reason))


def _turn(thought: str, found: _Found, cut_off: bool) -> ParsedTurn:
    """``cut_off``: the token limit ended the reply on the very line, so it may lack its end."""
    if found.request and not (cut_off and found.request["end"] == ""):
        return _inspect(thought, found.request)
    if cut_off:
        return _malformed(thought, "the reply was cut off inside the action by the token limit")
    if not found.text:
        return _malformed(thought, "the action is empty")
    return ParsedTurn(TurnKind.ACTION, thought, found.text)


def _request_at(lines: Sequence[str], number: int) -> _Found | None:
    """The inspect request that is all of this line. In the middle of prose it is no request."""
    line = lines[number]
    match = _INSPECT.match(line)
    if match is None or line[match.end() :].strip(_WRAPPING + "_."):
        return None
    return _Found(line, number, match)


def _action_at(lines: Sequence[str], number: int) -> _Found | None:
    """The action whose label stands on this line, if one does. It may follow on the next lines."""
    match = _ACTION.match(lines[number])
    if match is None and not _ACTION_HEADING.match(lines[number]):
        return None
    inline = match["rest"].strip(" \t*_") if match else ""
    place, text = (number, inline) if inline and not FENCE.match(inline) else _next_line(lines, number + 1)
    if text.lstrip().startswith("{") or _ACTION.match(text):
        return None  # JSON is read as such; a label that only announces another one is skipped
    action = clean_action(text)
    if _LABEL.match(action) or FENCE.match(action) or not any(map(str.isalnum, action)):
        return _Found("", place)
    return _Found(action, place, _INSPECT.match(action))


def _next_line(lines: Sequence[str], start: int) -> tuple[int, str]:
    """The first line from ``start`` on that is neither blank nor a fence, with its index."""
    for place in range(start, len(lines)):
        if lines[place].strip() and not FENCE.match(lines[place]):
            return place, lines[place]
    return len(lines) - 1, ""


def clean_action(text: str) -> str:
    """An action without what models put around it: back-ticks, bold, paired quotes, one final period."""
    text = _bare(text)
    while len(text) > 1 and _is_quoted(text):
        text = _bare(text[1:-1])
    return text


def _bare(text: str) -> str:
    text = text.strip(_WRAPPING)
    stem = text.rstrip(_WRAPPING + ".")
    return text if ".." in text[len(stem) :] else stem


def _is_quoted(text: str) -> bool:
    """Whether one pair of quotes is around all of it: ``"a" and "b"`` is not quoted."""
    opening, closing = text[0], _PAIRS.get(text[0])
    return closing == text[-1] and not {opening, closing} & set(text[1:-1])


def _inspect(thought: str, request: re.Match[str]) -> ParsedTurn:
    listed = request["square"] if request["square"] is not None else request["round"]
    parts = [part.strip(" \t`'\"“”‘’") for part in listed.split(",")]
    names = tuple(name for name in parts if any(map(str.isalnum, name)))
    if not names:
        return _malformed(thought, "Inspect[...] names nothing")
    if len(names) > MAX_NAMES:
        return _malformed(
            thought, f"Inspect[...] may name at most {MAX_NAMES} things, and names {len(names)}"
        )
    return ParsedTurn(TurnKind.INSPECT, thought, ", ".join(names), names)


def _json_turn(text: str) -> ParsedTurn | None:
    """A turn that a model wrote as a JSON object, as models tuned for tool use do."""
    try:
        fields = _lowered(read_object(text))
    except UnreadableReply:
        return None
    for inner in (fields.get("arguments"), fields.get("parameters")):
        if "action" not in fields and isinstance(inner, dict):
            fields |= _lowered(inner)
    action, thought = fields.get("action"), fields.get("thought") or ""
    if not isinstance(action, str) or not action.strip():
        return None
    found = _action_at([f"Action: {lines_of(action.strip())[0]}"], 0)
    return _turn(" ".join(str(thought).split()), found, cut_off=False) if found else None


def _lowered(value: Mapping[str, object]) -> dict[str, object]:
    return {str(key).lower(): entry for key, entry in value.items()}


def _thought(lines: Sequence[str]) -> str:
    text = "\n".join(line for line in lines if not FENCE.match(line)).strip()
    label = _THOUGHT.match(text)
    return text[label.end() :].strip() if label else text


def _malformed(thought: str, why: str) -> ParsedTurn:
    return ParsedTurn(TurnKind.MALFORMED, thought, why)


def _why_empty(reply: str, finish_reason: str) -> str:
    if finish_reason == CUT_OFF:
        return "the reply was cut off by the token limit before an action"
    if finish_reason == "content_filter":
        return "the reply was withheld by the server's content filter"
    return "the reply holds only thinking and no action" if reply.strip() else "the reply is empty"


def _why_no_action(finish_reason: str) -> str:
    if finish_reason == CUT_OFF:
        return "the reply was cut off by the token limit before an action"
    return "no line begins with `Action:`"
