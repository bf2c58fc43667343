"""What all forms of replies share: thinking, lines, fences, and the word for an unusable reply."""

from __future__ import annotations

import re

CUT_OFF = "length"
"""The finish reason of a reply that ran into its token limit."""
MARKUP = r"[\s>*_#`\-]*+"
"""What may stand before a label: quotes, bullets, headings, bold."""
FENCE = re.compile(r"(?P<indent>\s*+)(?P<ticks>`{3,}+|~{3,}+)(?P<info>[^`]*+)$")

_THINKING = re.compile(r"<(?P<end>/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")


class UnreadableReply(ValueError):
    """A reply that cannot be used; the message says why, in words for the corrective message."""


def strip_thinking(text: str) -> str:
    """The text without ``<think>``-like parts.

    An end without a beginning closes all before it, since servers cut the first tag off; a beginning
    without an end is followed by thinking only.
    """
    kept: list[str] = []
    position, depth = 0, 0
    for tag in _THINKING.finditer(text):
        if depth == 0:
            if tag["end"]:
                kept = []
            else:
                kept.append(text[position : tag.start()])
        depth = max(0, depth - 1) if tag["end"] else 1
        position = tag.end()
    return "".join(kept if depth else [*kept, text[position:]]).strip()


def lines_of(text: str) -> list[str]:
    """The lines without their ends. ``str.splitlines`` would also cut string literals at form feeds."""
    return _LINE_END.split(text)


def without_surrogates(text: str) -> str:
    """The text with ``?`` for each half of a surrogate pair, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read_prose(text: str, finish_reason: str = "stop") -> str:
    """A reply of free text, as a memory can hold it.

    Without thinking, and with U+FFFD for half of a surrogate pair, which no file can hold.

    Raises:
        UnreadableReply: nothing is left, or the server withheld the reply.
    """
    if finish_reason == "content_filter":
        raise UnreadableReply("the reply was withheld by the server's content filter")
    kept = strip_thinking(text).strip().encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if not kept:
        raise UnreadableReply("the reply is empty")
    return kept
