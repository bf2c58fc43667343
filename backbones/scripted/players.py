"""The environments that the stand-in plays."""

from __future__ import annotations

from backbones.scripted.alfworld.player import AlfworldPlayer
from backbones.scripted.plancraft.player import PlancraftPlayer
from backbones.scripted.player import Player
from backbones.scripted.scienceworld.player import ScienceworldPlayer

PLAYERS: tuple[Player, ...] = (PlancraftPlayer(), AlfworldPlayer(), ScienceworldPlayer())


def player_of(opening: str) -> Player | None:
    """The first player that knows goal and o0 of a prompt; None where none does."""
    return next((player for player in PLAYERS if player.plays(opening)), None)
