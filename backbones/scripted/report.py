"""A learning prompt as data: the finished episode, what is known, and what may be written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backbones.scripted.index import Index, index_in
from ocm.types import Message

_SECTION = re.compile(
    r"^# (Learning plan|Task|Outcome|Episode|What is known|Source that you asked for)\s*$", re.MULTILINE
)
_ENTRY = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_SHOWN = re.compile(r"^### ([\w./-]+)$", re.MULTILINE)
_CUT = re.compile(r"^([\w./-]+) is cut here", re.MULTILINE)
_HEAD = re.compile(
    r"(?:thought: (?P<thought>.*)\n\s*)?action: (?P<action>.*)\n\s*outcome: (?P<outcome>.*)\n?"
)


@dataclass(frozen=True)
class Line:
    """One step of the finished episode."""

    thought: str
    action: str
    valid: bool
    observation: str
    follows: bool
    """False where steps before it are left out."""


@dataclass(frozen=True)
class Report:
    """What a reflection or an update prompt says."""

    goal: str
    outcome: str
    first: str
    """o0."""
    lines: tuple[Line, ...]
    known: str
    """What the method knows so far, as the prompt has it."""
    index: Index
    source: str
    """The source that an update was asked with; empty in a reflection."""
    keeps_objects: bool
    keeps_procedures: bool

    @property
    def opening(self) -> str:
        """Goal and o0, as in an acting prompt."""
        return f"{self.goal}\n{self.first}"

    @property
    def readable(self) -> frozenset[str]:
        """Names whose source was shown whole."""
        return frozenset(_SHOWN.findall(self.source)) - frozenset(_CUT.findall(self.source))

    @property
    def success(self) -> bool:
        return self.outcome.strip().startswith("Success")


def read_report(messages: Sequence[Message]) -> Report:
    """The episode and its surroundings, from the first two messages of a learning call."""
    system, parts = messages[0].content, _SECTION.split(messages[1].content)
    section = dict(zip(parts[1::2], parts[2::2], strict=True))
    known = section.get("What is known", "").strip()
    pieces = _ENTRY.split(section.get("Episode", ""))
    numbers, entries = pieces[1::2], pieces[2::2]
    previous = [0, *map(int, numbers[1:])]
    return Report(
        goal=section.get("Task", ""),
        outcome=section.get("Outcome", ""),
        first=entries[0] if entries else "",
        lines=tuple(
            _line(entry, int(number) == before + 1)
            for number, entry, before in zip(numbers[1:], entries[1:], previous, strict=False)
        ),
        known=known,
        index=index_in(known),
        source=section.get("Source that you asked for", ""),
        keeps_objects="There is no `objects.py`" not in system,
        keeps_procedures="There are no procedures" not in system,
    )


def _line(entry: str, follows: bool) -> Line:
    head = _HEAD.match(entry)
    if head is None:
        return Line("", "", False, entry, follows)
    valid = head["outcome"].strip() == "valid"
    return Line(head["thought"] or "", head["action"].strip(), valid, entry[head.end() :], follows)
