"""Settings of WALL-E."""

from __future__ import annotations

from pydantic import Field

from ocm.spec import Model


class WalleSettings(Model):
    """WALL-E (arXiv 2410.07484): code rules, learned from failures that the model did not foresee."""

    interval: int = Field(default=1, ge=1)
    """Episodes between two learning rounds. What was seen is kept after each, and rules are tested anew."""
    batch: int = Field(default=40, ge=2)
    """Actions whose outcome the world model predicts in a round, and those shown to mine one verb's rules."""
    mined_verbs: int = Field(default=3, ge=1)
    """Verbs that one round mines rules for, those with most unforeseen failures first."""
    miner_temp: float = Field(default=0.3, ge=0.0, le=2.0)
    """Sampling temperature of rule mining; predictions and code are asked for at 0."""
    max_repropose: int = Field(default=3, ge=0)
    """Actions held back before one step; then the agent's action is sent whatever the rules say."""
    max_rules: int = Field(default=20, ge=0)
    """Rules that hold actions back."""
    max_pool: int = Field(default=30, ge=0)
    """Rules without a false alarm that add no coverage: they wait, the newest longest."""
    buffer_cap: int = Field(default=2_000, ge=1)
    """Actions with their outcome that rules are tested on. The oldest successes go first."""
