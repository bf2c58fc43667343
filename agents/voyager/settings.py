"""Settings of Voyager."""

from __future__ import annotations

from pydantic import Field

from ocm.spec import Model


class VoyagerSettings(Model):
    """Voyager (arXiv 2305.16291), as a library of programs."""

    top_k: int = Field(default=5, ge=1)
    """Stored programs in the acting prompt: those whose descriptions fit the goal best."""
    max_acts: int = Field(default=25, ge=1)
    """Actions after which a program is ended."""
    critic: bool = True
    """Ask for criticism between two programs of an episode."""
    max_skills: int = Field(default=100, ge=1)
    """Programs that are kept; the one that was not used for longest goes first."""
    program_chars: int = Field(default=5_000, ge=200)
    """Characters of a program that is kept; a longer one is not."""
    trajectory_chars: int = Field(default=8_000, ge=1_000)
    """Characters of an episode shown to the description."""
