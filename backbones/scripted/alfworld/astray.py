"""Steps that lead nowhere, as models take them: another look at what is known, a name left incomplete."""

from __future__ import annotations

import re

from backbones.scripted.alfworld.facts import NAMELESS, Facts
from backbones.scripted.alfworld.searching import jitter
from backbones.scripted.alfworld.world import World
from backbones.scripted.player import Move

DAWDLES, SURE = 0.45, 0.35
"""Share of actions that only look again, without and with something to go by in the notes."""
SLIPS, RARELY = 0.08, 0.02
"""Share of actions that leave out a number, before and after it knows better."""
_NUMBER = re.compile(r" \d+$")


def astray(move: Move, world: World, seed: int, facts: Facts) -> Move:
    """The move, or now and then one that leads nowhere. Which it is depends on seed and clock only."""
    chance = jitter(seed, f"astray {world.clock}") - 0.5
    slips = RARELY if NAMELESS in facts.in_vain else SLIPS
    if chance < slips:
        return Move(move.thought, _NUMBER.sub("", move.text))
    if chance < slips + (SURE if facts.kinds else DAWDLES):
        looks = ["look", "inventory", *(f"examine {name}" for name in (*world.held, world.at) if name)]
        return Move("Let me check first.", looks[int(1000 * chance) % len(looks)])
    return move
