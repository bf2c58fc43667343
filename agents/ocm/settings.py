"""Settings of OCM; the ablations of the paper's Table 2 are values of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ocm.spec import Model


class OcmSettings(Model):
    """Object-Centric environment Modeling (arXiv 2607.02846, section 3)."""

    verification: bool = True
    """Execute every procedure against the updated K_o before a commit (section 3.3)."""
    objects: bool = True
    """Keep object knowledge K_o."""
    procedures: bool = True
    """Keep procedure knowledge K_p."""
    disclosure: Literal["progressive", "full"] = "progressive"
    """Signatures and ``Inspect[...]`` (section 3.4), or all source in the acting prompt."""
    reflection: bool = True
    """Write a learning plan before the update (section 3.2)."""
    max_repairs: int = Field(default=2, ge=0)
    """Repair rounds after a failed verification; then the update is rejected as a whole."""
    inspects_per_step: int = Field(default=3, ge=0)
    inspects_per_episode: int = Field(default=15, ge=0)
    level0_tokens: int = Field(default=6_000, ge=100)
    """Budget of the signatures in the acting prompt, in estimated tokens."""
    inspect_chars: int = Field(default=8_000, ge=200)
    """Characters of source shown for one inspect request."""
    trajectory_chars: int = Field(default=48_000, ge=1_000)
    """Characters of an episode shown to reflection and update."""

    def model_post_init(self, _context: object) -> None:
        if not (self.objects or self.procedures):
            raise ValueError("objects and procedures cannot both be off: use the method react")
