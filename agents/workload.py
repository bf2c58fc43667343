"""How much a method asks of a backbone: what ``ocm plan`` estimates its cost from.

Assumptions in round numbers, not measurements; a method's own are in :mod:`agents.workloads`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LearningCalls:
    """One kind of call that is made to learn from an episode."""

    expected: float
    """Per episode that learns."""
    reply_tokens: int
    prompt_tokens: int = 2_000
    """Instructions, plan, source: without memory and trajectory."""
    sees_memory: bool = True
    """Whether the memory of the acting prompt stands in this prompt too."""
    trajectories: float = 1.0
    """How many episodes stand in the prompt."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One method's calls with one choice of settings. The default is that of a method without memory."""

    memory_tokens: int = 0
    """The method's text in the acting prompt, on average over a chain."""
    turns_per_step: float = 1.0
    """Calls that act, for each environment step; less than 1 where one reply acts for several steps."""
    turns_per_episode: float = 0.0
    """Further ones, such as inspects; corrections of malformed replies are not among them."""
    reply_tokens: int | None = None
    """Of a reply while acting; None for a thought and an action."""
    calls_per_step_at_most: int = 2
    """An action and its one correction, and whatever else may be asked for one step."""
    calls_per_episode_at_most: int = 0
    """Further ones while acting."""
    learns: float = 1.0
    """Share of the episodes that are learned from."""
    learning: tuple[LearningCalls, ...] = ()
    learning_calls_at_most: int = 0
    """Per episode, corrections included."""


def no_memory(settings: object) -> Workload:
    """One call a step and nothing learned, whatever the settings."""
    return Workload()


def one_update(settings: object) -> Workload:
    """For a method that declares nothing: a memory of some size, one call to learn from every episode."""
    return Workload(memory_tokens=3_000, learning=(LearningCalls(1, 1_000),), learning_calls_at_most=2)
