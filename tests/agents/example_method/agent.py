"""Notebook: one sentence per episode. An example of a method, whole.

The memory is one file for each of the last ``notes`` episodes; the oldest goes first.
"""

from __future__ import annotations

from pydantic import Field

from agents.acting import take_turn
from agents.parsing import UnreadableReply, read_prose
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.rendering import outcome, render
from ocm.spec import Model
from ocm.types import Change, Files, MemoryUpdate, Message, Trajectory, UpdateOutcome

PROMPTS = "tests.agents.example_method.prompts"
LONGEST = 500


class NotebookSettings(Model):
    """What a sweep may set; `ocm methods notebook` shows the texts below the fields."""

    notes: int = Field(default=5, ge=1)
    """Sentences that are kept."""


class NotebookAgent:
    """Acts with its notes in view and adds one after each episode."""

    def __init__(self, settings: NotebookSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        notes = "\n".join(view.memory.values())
        return await take_turn(view, bench, fill(PROMPTS, "memory", notes=notes) if notes else "")

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        asked = _question(trajectory, memory)
        reply = await bench.stage("reflect", lambda: bench.complete("note", asked, temperature=0.0))
        try:
            note = read_prose(reply.text, reply.finish_reason)
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"no note: {problem}")
        new = Change(_next_path(memory), f"{note[:LONGEST]}\n")
        too_many = max(0, len(memory) + 1 - self.settings.notes)
        oldest = (Change(path, None) for path in sorted(memory)[:too_many])
        return MemoryUpdate(UpdateOutcome.COMMITTED, (*oldest, new))


def _question(trajectory: Trajectory, memory: Files) -> tuple[Message, ...]:
    user = fill(
        PROMPTS,
        "note_user",
        goal=trajectory.goal,
        outcome=outcome(trajectory),
        trajectory=render(trajectory),
        notes="\n".join(memory.values()) or "Nothing yet.",
    )
    return Message("system", fill(PROMPTS, "note_system")), Message("user", user)


def _next_path(memory: Files) -> str:
    last = max(memory, default="notes/0000.md")
    return f"notes/{int(last[6:10]) + 1:04}.md"
