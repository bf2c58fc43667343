"""Actions for checks and measurements, made from the observations alone."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from envs.plancraft.slots import OUTPUT, SLOT_NAMES

_HELD = re.compile(r"^ - \S+ (\[\w+\])", re.MULTILINE)


def probe(seen: Sequence[str], draw: random.Random) -> str:
    """Move one item of some stack to a slot, mostly a free one; sometimes smelt it."""
    held = _HELD.findall(seen[-1]) or _HELD.findall(seen[0])
    source = draw.choice(held or list(SLOT_NAMES))
    targets = [name for slot, name in enumerate(SLOT_NAMES) if slot != OUTPUT and name not in held]
    verb = draw.choices(("move", "smelt"), (9, 1))[0]
    return f"{verb}: from {source} to {draw.choice(targets)} with quantity 1"
