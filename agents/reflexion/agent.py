"""Reflexion (arXiv 2303.11366; noahshinn/reflexion): verbal feedback carried forward.

Taken over: after a *failed* trial the model reflects in free text, and the last three reflections stand
in the acting prompt word for word. A success stores nothing and clears nothing. Changed for the online
one-pass setting: a task never comes again, so a reflection is also asked what holds for other tasks, and
says which goal it is about; it is shortened to ``words``. Demonstrations and the guard against repeated
actions are left out.

The memory is one file, ``reflections.md``. Bound: ``window`` reflections; the oldest goes first.
"""

from __future__ import annotations

from pydantic import Field

from agents.acting import take_turn
from agents.parsing import CUT_OFF, UnreadableReply, read_prose
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.reflexion.reflections import PATH, read, reflection, written
from agents.rendering import outcome, render
from ocm.spec import Model
from ocm.types import Change, Files, MemoryUpdate, Message, Trajectory, UpdateOutcome

PROMPTS = "agents.reflexion.prompts"


class ReflexionSettings(Model):
    """The window is the published one; ``words`` stand for the original's 256 tokens."""

    window: int = Field(default=3, ge=1)
    """Reflections that are kept and shown, the oldest out first."""
    words: int = Field(default=120, ge=20)
    """Words of one reflection; a longer one ends with its last whole sentence within them."""
    trajectory_chars: int = Field(default=48_000, ge=1_000)
    """Characters of an episode that a reflection is shown."""


class ReflexionAgent:
    """Acts with the reflections on its last failures in view."""

    def __init__(self, settings: ReflexionSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        reflections = view.memory.get(PATH, "").strip()
        return await take_turn(
            view, bench, fill(PROMPTS, "memory", reflections=reflections) if reflections else ""
        )

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Reflect on a failure. An empty or withheld reply leaves the memory as it was."""
        if trajectory.success:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="only failures are reflected on")
        asked = self._question(trajectory, memory)
        reply = await bench.stage("reflect", lambda: bench.complete("reflect", asked, temperature=0.0))
        try:
            text = read_prose(reply.text, reply.finish_reason)
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"no reflection: {problem}")
        new = reflection(trajectory.goal, text, self.settings.words, reply.finish_reason == CUT_OFF)
        if new is None:
            reason = "no reflection: the reply holds no whole sentence"
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=reason)
        kept = [*read(memory.get(PATH, "")), new][-self.settings.window :]
        return MemoryUpdate(UpdateOutcome.COMMITTED, (Change(PATH, written(kept)),))

    def _question(self, trajectory: Trajectory, memory: Files) -> tuple[Message, ...]:
        user = fill(
            PROMPTS,
            "reflect_user",
            goal=trajectory.goal,
            outcome=outcome(trajectory),
            trajectory=render(trajectory, self.settings.trajectory_chars),
            reflections=memory.get(PATH, "").strip() or "Nothing yet.",
        )
        system = fill(PROMPTS, "reflect_system", words=self.settings.words)
        return Message("system", system), Message("user", user)
