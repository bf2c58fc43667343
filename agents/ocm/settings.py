"""Settings of OCM; the ablations of the paper's Table 2 are values of them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from ocm.spec import Model


class OcmSettings(Model):
    """Object-Centric environment Modeling (arXiv 2607.02846, section 3)."""

    verification: bool = True
    """Execute every procedure against the updated K_o before a commit (section 3.3). Off: static rules
    and repairs are off too. Each update is committed unseen, procedures that do not even parse included.
    Only what cannot be put into the memory is dropped and recorded, such as an update of ``objects.py``
    that does not parse and so cannot be merged; the rest of that update is committed."""
    objects: bool = True
    """Keep object knowledge K_o. Off: procedures stand alone."""
    procedures: bool = True
    """Keep procedure knowledge K_p."""
    disclosure: Literal["progressive", "full"] = "progressive"
    """Signatures and ``Inspect[...]`` (section 3.4), or all source in the acting prompt without a budget."""
    reflection: bool = True
    """Write a learning plan before the update (section 3.2). Off: the update decides from the episode, and
    sees the source that the agent inspected while acting."""
    max_repairs: int = Field(default=2, ge=0)
    """Repair rounds after a failed verification; then the update is rejected as a whole."""
    inspects_per_step: int = Field(default=3, ge=0)
    inspects_per_episode: int = Field(default=15, ge=0)
    level0_tokens: int = Field(default=6_000, ge=100)
    """Budget of the signatures in the acting prompt, in estimated tokens."""
    inspect_chars: int = Field(default=8_000, ge=200)
    """Characters of source shown for one inspect request."""
    source_chars: int = Field(default=24_000, ge=1_000)
    """Characters of source shown to an update or a repair."""
    trajectory_chars: int = Field(default=48_000, ge=1_000)
    """Characters of an episode shown to reflection and update."""
    memory_chars: int = Field(default=400_000, ge=1_000)
    """Characters of the whole memory. An update past it is refused, without verification too."""
    max_procedures: int = Field(default=500, ge=1)
    """Procedures of the whole memory. An update past it is refused, without verification too."""

    @model_validator(mode="after")
    def _keeps_something(self) -> Self:
        if not (self.objects or self.procedures):
            raise ValueError("objects and procedures cannot both be off: use the method react")
        return self
