"""Settings of PoE-World."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ocm.spec import Model


class PoeWorldSettings(Model):
    """PoE-World (arXiv 2505.10819): a product of small programmatic experts, learned from surprises."""

    surprise: float = Field(default=0.8, ge=0.5, lt=1.0)
    """A transition surprises when something in it was given less than this probability."""
    surprises: int = Field(default=6, ge=0)
    """Surprising transitions that an episode asks for experts on: one request each."""
    experts_per_surprise: int = Field(default=4, ge=1)
    """Experts that are taken from one reply."""
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    """Sampling temperature of the requests for experts and for the extractor."""
    theta_start: float = Field(default=0.5, ge=0.0)
    """Weight of a new expert, until weights are fitted."""
    theta_most: float = Field(default=10.0, gt=0.0)
    """The largest weight; the smallest is 0."""
    l1: float = Field(default=1.0, ge=0.0)
    """Price of weight, against the negative log-likelihood of a thousand transitions."""
    prune: float = Field(default=0.01, ge=0.0)
    """Experts that end with this weight or less are deleted."""
    max_experts: int = Field(default=150, ge=1)
    """Experts that are kept, those with most weight."""
    max_transitions: int = Field(default=2_000, ge=100)
    """Transitions that weights are fitted to. The oldest episodes go first."""
    proposals: int = Field(default=5, ge=1)
    """Actions that the model proposes in a turn."""
    margin: float = Field(default=0.15, ge=0.0)
    """Proposals whose predicted value is this close to the best one's count as equal: their order decides."""
    shown: int = Field(default=20, ge=0)
    """Experts that stand in the acting prompt, those with most weight."""
    memory_chars: int = Field(default=24_000, ge=1_000)
    """Characters of experts in the acting prompt; what does not fit whole is left out."""

    @model_validator(mode="after")
    def _weights_have_room(self) -> Self:
        if self.theta_start > self.theta_most or self.prune >= self.theta_most:
            raise ValueError("theta_start must not be above theta_most, and prune must be below it")
        return self
