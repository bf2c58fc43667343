"""ReAct (arXiv 2210.03629; ysymyth/ReAct): thought and action, and no memory.

Taken over: the interleaved thought and action. Changed for the online one-pass setting: no
demonstrations, thought and action in one reply (the original spends an environment step on a
thought), and an episode of the benchmark's own step limit.
"""

from __future__ import annotations

from agents.acting import take_turn
from agents.protocol import Bench, Decision, View
from ocm.spec import Model
from ocm.types import Files, MemoryUpdate, Trajectory, UpdateOutcome


class ReactSettings(Model):
    """ReAct has no settings."""


class ReactAgent:
    """Acts from the episode's own dialogue and learns nothing."""

    def __init__(self, settings: ReactSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        return await take_turn(view, bench)

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="the method has no memory")
