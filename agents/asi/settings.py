"""Settings of ASI."""

from __future__ import annotations

from pydantic import Field

from ocm.spec import Model


class AsiSettings(Model):
    """Agent Skill Induction (arXiv 2504.06821)."""

    min_steps: int = Field(default=3, ge=1)
    """Valid actions that a success must have to be learned from."""
    temperature: float = Field(default=0.7, ge=0, le=2)
    """Of the induction call; 1.0 in the original."""
    min_acts: int = Field(default=2, ge=1)
    """Times that a skill acts at least, going by its text; a loop counts twice."""
    max_lines: int = Field(default=15, ge=1)
    """Lines of a skill's body, its docstring apart."""
    max_skills: int = Field(default=30, ge=1)
    """Skills that are kept; the least used go first, the oldest of equals."""
    skill_tokens: int = Field(default=8_000, ge=200)
    """Budget of their source in the acting prompt, in estimated tokens."""
    trajectory_chars: int = Field(default=48_000, ge=1_000)
    """Characters of an episode shown to the induction."""
