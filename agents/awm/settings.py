"""Settings of AWM."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from agents.awm.workflows import MAX_STEPS
from ocm.spec import Model


class AwmSettings(Model):
    """The original has no bounds; these are ours."""

    max_workflows: int = Field(default=20, ge=1)
    """Workflows that are kept; with one more they are merged."""
    consolidate_to: int = Field(default=12, ge=1)
    """Workflows that are left at most when they are merged."""
    memory_tokens: int = Field(default=6_000, ge=1_000)
    """Estimated tokens of all workflows; beyond them they are merged."""
    max_new: int = Field(default=3, ge=1)
    """Workflows that one episode adds at most."""
    min_steps: int = Field(default=2, ge=1, le=MAX_STEPS)
    """Steps of a workflow, and valid steps of an episode to learn from."""
    trajectory_chars: int = Field(default=48_000, ge=1_000)
    """Characters of an episode that an induction is shown."""

    @model_validator(mode="after")
    def _merging_makes_fewer(self) -> Self:
        if self.consolidate_to > self.max_workflows:
            raise ValueError("consolidate_to must not be more than max_workflows")
        return self
