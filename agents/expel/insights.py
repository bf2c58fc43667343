"""The list of insights and the operations that change it. Pure functions.

The votes of the original (LeapLabTHU/ExpeL, ``parse_rules`` and ``update_rules``): an insight begins with
importance 2, AGREE and EDIT add 1, REMOVE takes 1, or 3 from a list that is too long; without importance
it goes. Removals come first, then agreements, edits and additions; numbers mean the list as it was shown.

``insights.md`` has one line per insight, the most important first::

    - (3) Text of the insight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from agents.parsing.text import CUT_OFF, MARKUP, UnreadableReply, lines_of, read_prose

PATH = "insights.md"
NEW = 2
"""Importance of a new insight."""
TOO_MANY = 5
"""Insights beyond the wanted number from which on a removal counts more."""
STRONG_REMOVAL = 3
MAX_CHARS = 600
"""Of one insight: more is no insight."""
NO_CHANGES = "NO CHANGES"

_WRITTEN = re.compile(r"- \((\d+)\) (.+)")
_OPERATION = re.compile(
    rf"{MARKUP}(?:\d++[.)]{MARKUP})?+(?P<kind>AGREE|REMOVE|EDIT|ADD)[\s*_`]*+(?P<number>\d{{1,6}})?+[\s*_`.]*+[:：]"
    r"(?P<text>.*)"
)
_LABEL = re.compile(r"(?:existing |new )?+(?:rule|insight)[ \t]*+\d*+[ \t]*+[:：]", re.IGNORECASE)
_BANNED = re.compile(r"\b(?:AGREE|REMOVE|EDIT|ADD)\b")


@dataclass(frozen=True, slots=True)
class Insight:
    """One line of advice."""

    text: str
    importance: int


class Kind(StrEnum):
    """What an operation does, in the order in which they are carried out."""

    REMOVE = "REMOVE"
    AGREE = "AGREE"
    EDIT = "EDIT"
    ADD = "ADD"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as the model wrote it."""

    kind: Kind
    number: int | None
    """1-based place in the list that it was shown, right or wrong; None without one."""
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of the list."""

    insights: tuple[Insight, ...]
    account: tuple[str, ...]
    """One line for each operation: what it did, or why it was dropped."""


@dataclass(frozen=True, slots=True)
class _Vote:
    """An operation on the insight of this index; of an addition the index says nothing."""

    kind: Kind
    index: int
    text: str
    by_number: bool = False
    """Whether an agreement or a removal says something else than the insight that it means."""

    def __str__(self) -> str:
        place = "" if self.kind is Kind.ADD else f" {self.index + 1}"
        return f"{self.kind}{place}{' (by its number)' if self.by_number else ''}: {self.text}"


def read(text: str) -> tuple[Insight, ...]:
    """The insights of the file."""
    return tuple(
        Insight(found[2], int(found[1])) for found in map(_WRITTEN.fullmatch, lines_of(text)) if found
    )


def written(insights: Sequence[Insight]) -> str:
    """The file's text."""
    return "".join(f"- ({one.importance}) {one.text}\n" for one in insights)


def numbered(insights: Sequence[Insight]) -> str:
    """The insights as a model sees them: numbers from 1, without the votes."""
    return "\n".join(f"{number}. {one.text}" for number, one in enumerate(insights, start=1))


def parse_operations(reply: str, finish_reason: str, most: int) -> tuple[Operation, ...]:
    """The first ``most`` operations of a reply that can be used; none where it asks for no changes.

    An operation stands on one line. Its text must be a whole sentence: not empty, with a full stop, and
    without the word of another operation.

    Raises:
        UnreadableReply: the reply is empty or cut off, or holds no operation that can be used.
    """
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; answer more briefly")
    text = read_prose(reply, finish_reason)
    operations = tuple(_operations(text))[:most]
    if not operations and not text.strip(" \n*_`#.").endswith(NO_CHANGES):
        raise UnreadableReply(
            "no line is an operation such as `ADD 4: One sentence with a full stop.`; "
            f"write {NO_CHANGES} if there is nothing to change"
        )
    return operations


def _operations(text: str) -> Iterator[Operation]:
    for line in lines_of(text):
        found = _OPERATION.match(line)
        if found is None:
            continue
        said = " ".join(found["text"].strip(" \t*_`").split())
        said = said[label.end() :].strip(" *_`") if (label := _LABEL.match(said)) else said
        if said.endswith(".") and said.strip(". ") and not _BANNED.search(said) and len(said) <= MAX_CHARS:
            yield Operation(Kind(found["kind"]), int(found["number"]) if found["number"] else None, said)


def edit(insights: Sequence[Insight], operations: Sequence[Operation], max_rules: int) -> Edited:
    """Carry operations out, most important insights first in the end; of equals the older comes first.

    Args:
        insights: as they were shown to the model.
        operations: as it wrote them.
        max_rules: how many insights are wanted; at most ``TOO_MANY`` more are kept.
    """
    judged: list[_Vote | str] = []
    for operation in operations:
        said = [one.text for one in judged if isinstance(one, _Vote) and one.kind is Kind.ADD]
        judged.append(_judged(operation, insights, said))
    votes = [one for one in judged if isinstance(one, _Vote)]
    removal = STRONG_REMOVAL if len(insights) >= max_rules + TOO_MANY else 1
    changed = list(insights)
    for kind in Kind:
        for vote in votes:
            if vote.kind is kind:
                _carry_out(vote, changed, removal)
    kept = sorted((one for one in changed if one.importance > 0), key=lambda one: -one.importance)
    account = tuple(map(str, judged))
    return Edited(tuple(kept[: max_rules + TOO_MANY]), account)


def _carry_out(vote: _Vote, insights: list[Insight], removal: int) -> None:
    if vote.kind is Kind.ADD:
        insights.append(Insight(vote.text, NEW))
        return
    one = insights[vote.index]
    if vote.kind is Kind.REMOVE:
        insights[vote.index] = replace(one, importance=one.importance - removal)
    elif vote.kind is Kind.AGREE:
        insights[vote.index] = replace(one, importance=one.importance + 1)
    else:
        insights[vote.index] = Insight(vote.text, one.importance + 1)


def _judged(operation: Operation, insights: Sequence[Insight], added: Sequence[str]) -> _Vote | str:
    """What an operation comes down to: conflicts are repaired, or it is dropped and this is why.

    An addition that repeats an insight, or one of those added before it, is dropped; an edit that repeats an
    insight agrees with it; an agreement or a removal means the insight whose text it holds, and only where
    there is none the one of its number, since models paraphrase.
    """
    kind, text = operation.kind, operation.text
    match = next((place for place, one in enumerate(insights) if one.text in text), None)
    by_number = _index(operation.number, len(insights))
    if kind is Kind.ADD:
        is_new = match is None and not any(one in text for one in added)
        return _Vote(kind, -1, text) if is_new else f"dropped, as it is known: {kind}: {text}"
    if kind is Kind.EDIT and match is not None:
        return _Vote(Kind.AGREE, match, insights[match].text)
    index = by_number if kind is Kind.EDIT or match is None else match
    if index is None:
        return f"dropped, as there is no such insight: {kind} {operation.number or ''}: {text}"
    return _Vote(kind, index, text, by_number=kind is not Kind.EDIT and match is None)


def _index(number: int | None, size: int) -> int | None:
    return number - 1 if number is not None and 1 <= number <= size else None
