"""What the fault server answers, and what goes wrong on the way. Pure functions of the request.

Two kinds of faults, kept apart:

- *Answers* are whole replies, however odd: cut off, filtered, without usage. They are a function of the
  request's content alone, so that an undisturbed run gets the same ones.
- *Transport faults* are no replies. Whether a try meets one is drawn from the seed, the content and the
  number of the try, so that equal seeds disturb the same requests whatever the timing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ocm.identity import canonical_json, derive_seed, generator, sha256
from tests.backbones.loopback import Text

TROUBLED_TRIES = 3
"""Tries of one request that may meet a fault: fewer than any client gives up after."""

ODD_ANSWERS = {"length": 0.03, "content_filter": 0.02, "no usage": 0.03}
"""Share of requests that get each."""


class Transport(StrEnum):
    """How a try can fail without a reply, except for ``SLOW``, which only takes its time."""

    RATE_LIMIT = "429 with Retry-After"
    BARE_RATE_LIMIT = "429"
    SERVER_ERROR = "500"
    BAD_GATEWAY = "502"
    SLOW = "slow first byte"
    HANG = "hang"
    RESET = "reset in mid-body"
    NOT_JSON = "invalid JSON"
    NO_CHOICES = "empty choices"


def content_of(body: Mapping[str, Any]) -> str:
    """A name for a request's content. The seed field sets equal texts of different calls apart."""
    return sha256(canonical_json(body))[:24]


@dataclass(frozen=True, slots=True)
class Chances:
    """How often a try meets a transport fault."""

    seed: int = 0
    first_try: float = 0.0
    """Share of requests whose first try is disturbed; 0 disturbs nothing."""
    later_tries: float = 0.25

    def disturbs(self, content: str, tries: int) -> bool:
        """Whether this try fails; ``tries``: those of the same content before it."""
        if self.first_try == 0.0 or tries >= TROUBLED_TRIES:
            return False
        share = self.later_tries if tries else self.first_try
        return generator("transport fault", self.seed, content, tries).random() < share


def oddity(content: str) -> str:
    """What is odd about the answer to this content; empty for most."""
    drawn = random.Random(derive_seed("odd answer", content)).random()
    for name, share in ODD_ANSWERS.items():
        drawn -= share
        if drawn < 0:
            return name
    return ""


def spoiled(answer: Text, odd: str) -> Text:
    """The answer with its oddity."""
    match odd:
        case "length":
            text = answer.text or ""
            return replace(answer, text=text[: len(text) // 2], finish_reason="length")
        case "content_filter":
            return replace(answer, text="", finish_reason="content_filter")
        case "no usage":
            return replace(answer, usage=None)
        case _:
            return answer
