"""Settings of WorldCoder."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ocm.spec import Model


class WorldcoderSettings(Model):
    """WorldCoder (arXiv 2402.12275): a program that predicts transitions and rewards, found by REx."""

    c: float = Field(default=5.0, gt=0)
    """How much a program's score counts against chance when REx chooses what to refine."""
    n_init: int = Field(default=7, ge=1)
    """Random transitions shown for a program from nothing."""
    n_correct: int = Field(default=3, ge=0)
    """Explained transitions shown for a refinement."""
    n_wrong: int = Field(default=1, ge=1)
    """Unexplained transitions shown for a refinement, with what the program predicted."""
    min_buffer: int = Field(default=10, ge=1)
    """Transitions before the first program is written."""
    calls_per_episode: int = Field(default=8, ge=0)
    """Calls of REx after an episode; the search ends earlier at a perfect score."""
    plan_calls: int = Field(default=2, ge=0)
    """Calls after them while the program knows no plan for the episode's own task. 0: that is not asked."""
    temperature: float = Field(default=1.0, ge=0.0, le=2.0)
    """Sampling temperature of all programs; plans are proposed at the backbone's own."""
    eval_cap: int = Field(default=200, ge=1)
    """Transitions that programs are scored on."""
    f1: float = Field(default=0.8, ge=0.0, le=1.0)
    """Least agreement, in words, of a predicted observation with the real one."""
    plans: int = Field(default=5, ge=1, le=10)
    """Plans that are asked for before a step."""
    plan_length: int = Field(default=5, ge=1, le=10)
    """Actions of one plan."""
    plan_depth: int = Field(default=10, ge=1)
    """Actions within which the program should reach a reward in the last task."""
    buffer_cap: int = Field(default=2_000, ge=1)
    """Transitions that are kept. The oldest episode goes first, as a whole."""
    observation_chars: int = Field(default=1_200, ge=100)
    """Characters kept of an observation: PlanCraft's longest inventories have fewer. In episodes of more
    than 75 steps fewer are kept, since a whole episode has to fit into one execution."""
    program_chars: int = Field(default=30_000, ge=1_000)
    """A longer program is not even scored."""

    @model_validator(mode="after")
    def _the_buffer_fills(self) -> Self:
        if self.min_buffer > self.buffer_cap:
            raise ValueError("min_buffer must not be more than buffer_cap: no program would ever be written")
        return self
