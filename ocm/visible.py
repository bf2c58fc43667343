"""Text from outside made fit to be shown: nothing in it steers a terminal or hides."""

from __future__ import annotations

import re

__all__ = ["visible"]

_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
)
"""Control characters but tab and line feed, turns of the direction of writing, and what is there and not
seen: zero-width letters, tags, selectors, fillers, halves of pairs."""


def visible(text: str) -> str:
    """The text, of equal length, with a replacement character for each letter that is unfit."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)
