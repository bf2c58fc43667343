"""Actions for checks and measurements, made from the observations alone."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_NAME = re.compile(r"\ba ([a-z]+ \d+)")
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed\.")
_ARRIVED = re.compile(r"You arrive at ([a-z]+ \d+)\.")


def probe(seen: Sequence[str], draw: random.Random) -> str:
    """Open what was just found closed; else take or examine something that was just seen, or go on."""
    last = seen[-1]
    closed = _CLOSED.search(last)
    if closed:
        return f"open {closed[1]}"
    places = _NAME.findall(seen[0])
    things = [] if len(seen) == 1 else _NAME.findall(last)
    arrived = _ARRIVED.search(last)
    if things and arrived and draw.random() < 0.5:
        return f"take {draw.choice(things)} from {arrived[1]}"
    return draw.choice([f"go to {place}" for place in places] + ["look", "inventory"])
