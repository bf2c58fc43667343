"""Settings of ExpeL."""

from __future__ import annotations

from pydantic import Field

from ocm.spec import Model


class ExpelSettings(Model):
    """Defaults of the original where it has them; bounds and chunk size are smaller, for one pass."""

    max_rules: int = Field(default=10, ge=1)
    """Insights in the acting prompt. With so many, the model is asked to remove rather than to add; with
    five more, a removal costs 3 votes instead of 1, and no more are kept."""
    max_operations: int = Field(default=4, ge=1)
    """Operations of one reply that are carried out."""
    success_chunk: int = Field(default=4, ge=1)
    """Successes that are looked at together (original: 8)."""
    similar_successes: int = Field(default=2, ge=0)
    """Past successes in the acting prompt."""
    candidates: int = Field(default=4, ge=1)
    """How many times as many are retrieved, since long ones are skipped."""
    similarity: float = Field(default=0.2, ge=0, le=1)
    """How alike the texts of two tasks must be for a comparison: normalised BM25. It stands for a cosine of
    0.5 between sentence embeddings, by which tasks of one benchmark are nearly all alike; from 0.2 on, they
    share more than the words that all tasks share. Of the first few tasks of a chain little is known to be
    shared by all, so that they are compared more readily."""
    max_experience: int = Field(default=100, ge=1)
    """Episodes in the pool; the oldest goes first."""
    trajectory_chars: int = Field(default=16_000, ge=1_000)
    """Characters of an episode in the pool; beyond them its middle is left out."""
    example_tokens: int = Field(default=3_000, ge=100)
    """Estimated tokens of a past success in the acting prompt; longer ones are skipped."""
    memory_tokens: int = Field(default=6_000, ge=500)
    """Estimated tokens of insights and past successes in the acting prompt; the less similar success goes
    first, then the least important insight."""
