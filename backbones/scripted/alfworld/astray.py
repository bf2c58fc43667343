"""Steps that lead nowhere, as models take them: another look at what is known, a name left incomplete."""

from __future__ import annotations

import re

from backbones.scripted.alfworld.searching import jitter
from backbones.scripted.alfworld.world import World
from backbones.scripted.player import Move

DAWDLES = 0.25
"""Share of actions that only look again."""
SLIPS = 0.06
"""Share of actions that leave out a number."""
_NUMBER = re.compile(r" \d+$")


def astray(move: Move, world: World, seed: int) -> Move:
    """The move, or now and then one that leads nowhere. Which it is depends on seed and clock only."""
    chance = jitter(seed, f"astray {world.clock}") - 0.5
    if chance < SLIPS:
        return Move(move.thought, _NUMBER.sub("", move.text))
    if chance < SLIPS + DAWDLES:
        looks = ["look", "inventory", *(f"examine {name}" for name in (*world.held, world.at) if name)]
        return Move("Let me check first.", looks[int(1000 * chance) % len(looks)])
    return move
