"""``reflections.md``: what the last failures taught, oldest first, each under the goal that was missed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

PATH = "reflections.md"
GOAL_CHARS = 300
CHARS_PER_WORD = 10
"""So many characters a word may take on average: 120 words are then at most about 300 tokens."""

_ENTRY = re.compile(r"^## (.*)\n", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#[# \t]*", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<!^\d)[.!?][\"')\]`]*(?=\s|$)|(?<=[^\s:])(?=\n)", re.MULTILINE)
"""Also the end of a line, as lists have it; the number at its beginning ends none."""


class Reflection(NamedTuple):
    """What one failure taught."""

    goal: str
    """The failed task's, on one line."""
    text: str


def read(content: str) -> list[Reflection]:
    """The reflections of a file that :func:`written` made."""
    parts = _ENTRY.split(content)
    return [Reflection(goal, text.strip()) for goal, text in zip(parts[1::2], parts[2::2], strict=True)]


def written(reflections: Sequence[Reflection]) -> str:
    """The file's text."""
    return "\n".join(f"## {one.goal}\n{one.text}\n" for one in reflections)


def reflection(goal: str, text: str, words: int, is_cut_off: bool) -> Reflection | None:
    """A reflection as the file holds it, or None where nothing is left of the text.

    Args:
        goal: the failed task's goal.
        text: the model's answer; headings in it become plain lines.
        words: how many are kept; a longer text ends with its last whole sentence within them.
        is_cut_off: whether the text lacks its end; then nothing but whole sentences is kept.
    """
    plain = _HEADING.sub("", "\n".join(text.splitlines())).strip()
    kept = _shortened(plain, words)
    if is_cut_off and kept == plain:
        kept = _whole_sentences(plain)
    return Reflection(" ".join(goal.split())[:GOAL_CHARS], kept) if kept else None


def _shortened(text: str, words: int) -> str:
    within = _within(text, words)
    return text if within == text else _whole_sentences(within) or within.strip()


def _within(text: str, words: int) -> str:
    """The text's beginning of so many words of usual length."""
    last = [match.end() for match in re.finditer(r"\S+", text)][:words][-1:]
    return text[: min(words * CHARS_PER_WORD, *last)] if last else ""


def _whole_sentences(text: str) -> str:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else ""
