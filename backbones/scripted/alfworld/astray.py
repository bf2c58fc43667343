"""Steps that lead nowhere, as models take them: another look at what is known, a name left incomplete."""

from __future__ import annotations

import re

from backbones.scripted.alfworld.searching import jitter
from backbones.scripted.alfworld.world import World
from backbones.scripted.player import Move

DAWDLES = 0.45
"""Share of actions that only look again."""
SLIPS = 0.08
"""Share of actions that leave out a number, as long as it does not know better."""
RARELY = 0.02
"""The share when it does."""
_NUMBER = re.compile(r" \d+$")


def astray(move: Move, world: World, seed: int, *, knows_names: bool) -> Move:
    """The move, or now and then one that leads nowhere. Which it is depends on seed and clock only."""
    chance = jitter(seed, f"astray {world.clock}") - 0.5
    slips = RARELY if knows_names else SLIPS
    if chance < slips:
        return Move(move.thought, _NUMBER.sub("", move.text))
    if chance < slips + DAWDLES:
        looks = ["look", "inventory", *(f"examine {name}" for name in (*world.held, world.at) if name)]
        return Move("Let me check first.", looks[int(1000 * chance) % len(looks)])
    return move
