"""Tolerant reading of what chat models really write. Pure functions on text.

Three forms: a turn (thought, then ``Action: …`` or ``Inspect[…]``), a JSON object, and code (fenced
blocks, each under the path that it belongs to). A reply that cannot be used is described in words
fit for the one corrective message. After the conventions of ReAct's HotpotQA loop (ysymyth/ReAct):
the first action wins, and what a model imagines after it is dropped.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import json_repair

from ocm.types import TurnKind

_MARKUP = r"[\s>*_#`\-]*"
_ACTION = re.compile(rf"^{_MARKUP}action\s*\d*{_MARKUP}[:：]{_MARKUP}?(?P<rest>.*)$", re.IGNORECASE)
_ACTION_HEADING = re.compile(r"^\s*#+\s*action\s*\**\s*$", re.IGNORECASE)
_INSPECT = re.compile(rf"^{_MARKUP}(?:action\s*:{_MARKUP})?inspect\s*[\[(](?P<names>[^\n]*?)[\])]?[*_`.\s]*$", re.I)
_THOUGHT_LABEL = re.compile(rf"^{_MARKUP}thoughts?\s*\d*{_MARKUP}[:：]{_MARKUP}", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_CLOSED_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THINKING = re.compile(r"<(think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_HEADLESS_THINKING = re.compile(r"\A.*?</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./-])(?:procedures/)?[A-Za-z_][\w-]*\.py\b")
_DELETE = re.compile(r"^[\s>*_#`\-]*delete\s*:?[\s`*_]+(?P<path>[\w./-]+\.py)[`*_]*\s*(?::\s*(?P<names>.+))?$", re.IGNORECASE)

CUT_OFF = "length"
"""The finish reason of a reply that ran into its token limit."""


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """One turn as read. ``content`` is the action, the names, or why the reply is malformed."""

    kind: TurnKind
    thought: str
    content: str
    names: tuple[str, ...] = ()


def strip_thinking(text: str) -> str:
    """The text without ``<think>``-like parts, also where one tag of the pair is missing."""
    text = _CLOSED_THINKING.sub("", text)
    text = _OPEN_THINKING.sub("", text)
    return _HEADLESS_THINKING.sub("", text).strip()


def parse_turn(reply: str, finish_reason: str = "stop") -> ParsedTurn:
    """Read one acting reply: its first action or inspect request, and the thought before it."""
    text = strip_thinking(reply)
    if not text:
        return _malformed("", _why_empty(reply, finish_reason))
    lines = text.splitlines()
    for number, line in enumerate(lines):
        thought = _thought(lines[:number])
        if match := _INSPECT.match(line):
            return _inspect(thought, match["names"])
        action = _action_at(lines, number)
        if action is None:
            continue
        if finish_reason == CUT_OFF and action.last_line == len(lines) - 1:
            return _malformed(thought, "the reply was cut off inside the action by the token limit")
        if not action.text:
            return _malformed(thought, "the action is empty")
        return ParsedTurn(TurnKind.ACTION, thought, action.text)
    return _json_turn(text) or _malformed(text, _why_no_action(finish_reason))


@dataclass(frozen=True, slots=True)
class _Action:
    text: str
    last_line: int


def _action_at(lines: list[str], number: int) -> _Action | None:
    """The action whose label stands on this line, if one does. It may follow on the next lines."""
    match = _ACTION.match(lines[number])
    if match is None and not _ACTION_HEADING.match(lines[number]):
        return None
    rest = clean_action(match["rest"]) if match else ""
    if rest:
        return _Action(rest, number)
    for following in range(number + 1, len(lines)):
        line = lines[following]
        if line.strip() and not _FENCE.match(line):
            return _Action(clean_action(line), following)
    return _Action("", len(lines) - 1)


def clean_action(text: str) -> str:
    """An action without markup around it: back-ticks, bold, paired quotes, one final period."""
    text = text.strip().strip("`").strip()
    text = re.sub(r"^\*+\s*|\s*\*+$", "", text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
    text = text.strip("`").strip()
    return text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text


def _inspect(thought: str, names: str) -> ParsedTurn:
    parts = tuple(name for part in names.split(",") if (name := part.strip().strip("`'\"").strip()))
    if not parts:
        return _malformed(thought, "Inspect[...] names nothing")
    return ParsedTurn(TurnKind.INSPECT, thought, ", ".join(parts), parts)


def _json_turn(text: str) -> ParsedTurn | None:
    """A turn that a model wrote as a JSON object, as models tuned for tool use do."""
    value = _strict_object(text)
    if value is None:
        return None
    fields = {str(key).lower(): entry for key, entry in value.items()}
    action = fields.get("action")
    if not isinstance(action, str) or not action.strip():
        return None
    thought = fields.get("thought", "")
    if match := _INSPECT.match(action):
        return _inspect(str(thought), match["names"])
    return ParsedTurn(TurnKind.ACTION, str(thought), clean_action(action))


def _thought(lines: list[str]) -> str:
    text = "\n".join(line for line in lines if not _FENCE.match(line)).strip()
    return _THOUGHT_LABEL.sub("", text)


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


# --- JSON --------------------------------------------------------------------------------------


class UnreadableReply(ValueError):
    """A reply that cannot be used; the message says why, in words for the corrective message."""


def parse_json(reply: str, finish_reason: str = "stop") -> dict[str, Any]:
    """The JSON object in a reply: bare, in a fence, with prose around it or trailing commas.

    Raises:
        UnreadableReply: there is none, or it was cut off.
    """
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; answer more briefly")
    text = strip_thinking(reply)
    value = _strict_object(text)
    if value is not None:
        return value
    start = text.find("{")
    if start < 0:
        raise UnreadableReply("the reply holds no JSON object")
    repaired = json_repair.loads(text[start:])
    if isinstance(repaired, list):
        repaired = next((entry for entry in repaired if isinstance(entry, dict)), None)
    if not isinstance(repaired, dict) or not repaired:
        raise UnreadableReply("the reply holds no readable JSON object")
    return repaired


def _strict_object(text: str) -> dict[str, Any] | None:
    """The first well-formed JSON object that begins at a brace of the text."""
    decoder = json.JSONDecoder(strict=False)
    try:
        value, _ = decoder.raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# --- code --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodeReply:
    """Code that a model wrote: a delta in its own words, not yet merged or checked."""

    objects: str
    """Top-level definitions for ``objects.py``."""
    procedures: dict[str, str]
    """Whole files, by path under ``procedures/``."""
    deleted_names: tuple[str, ...]
    deleted_files: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not (self.objects.strip() or self.procedures or self.deleted_names or self.deleted_files)


@dataclass(frozen=True, slots=True)
class _Block:
    path: str | None
    code: str


def parse_code(reply: str, finish_reason: str = "stop") -> CodeReply:
    """The fenced blocks of a reply, each with its path, and its ``DELETE`` lines.

    A block's path stands on the fence, on the line above, or in a comment on its first line. A bare
    file name is taken to lie in ``procedures/``.

    Raises:
        UnreadableReply: a block has no path or no end.
    """
    blocks, outside = _fenced_blocks(strip_thinking(reply).splitlines(), finish_reason)
    unplaced = sum(block.path is None for block in blocks)
    if unplaced:
        raise UnreadableReply(
            f"{unplaced} code block(s) have no path; write `### objects.py` or "
            "`### procedures/NAME.py` on the line above each"
        )
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; write less, or in fewer files")
    names, files = _deletions(outside)
    return CodeReply(
        objects="\n\n".join(block.code.strip("\n") for block in blocks if block.path == "objects.py"),
        procedures={block.path: block.code for block in blocks if block.path and block.path != "objects.py"},
        deleted_names=names,
        deleted_files=files,
    )


def _fenced_blocks(lines: list[str], finish_reason: str) -> tuple[list[_Block], list[str]]:
    blocks: list[_Block] = []
    outside: list[str] = []
    above = ""
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if not fence:
            outside.append(lines[number])
            above = lines[number].strip() or above
            number += 1
            continue
        end = _closing(lines, number, fence["ticks"])
        if end is None:
            cause = "by the token limit" if finish_reason == CUT_OFF else "without a closing fence"
            raise UnreadableReply(f"the last code block ends {cause}; write less, or in fewer files")
        code = lines[number + 1 : end]
        path = _path_in(fence["info"]) or _path_in(above) or _path_in_comment(code)
        if path or any(line.strip() for line in code):
            blocks.append(_Block(path, "\n".join(code) + "\n"))
        above = ""
        number = end + 1
    return blocks, outside


def _closing(lines: list[str], opening: int, ticks: str) -> int | None:
    """Index of the line that closes a fence: at least as many ticks, and nothing else."""
    for number in range(opening + 1, len(lines)):
        line = lines[number].strip()
        if len(line) >= len(ticks) and line == ticks[0] * len(line):
            return number
    return None


def _path_in(text: str) -> str | None:
    match = _PATH.search(text)
    return _placed(match[0]) if match else None


def _path_in_comment(code: list[str]) -> str | None:
    first = next((line for line in code if line.strip()), "")
    return _path_in(first) if first.lstrip().startswith("#") else None


def _placed(path: str) -> str:
    return path if path == "objects.py" or path.startswith("procedures/") else f"procedures/{path}"


def _deletions(lines: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names: list[str] = []
    files: list[str] = []
    for line in lines:
        match = _DELETE.match(line)
        if not match:
            continue
        path = _placed(match["path"])
        if path == "objects.py":
            names += [name for part in (match["names"] or "").split(",") if (name := part.strip(" `*_."))]
        else:
            files.append(path)
    return tuple(dict.fromkeys(names)), tuple(dict.fromkeys(files))
