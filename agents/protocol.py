"""The Agent protocol: how a method acts, and how it learns from an episode.

All state is in the memory: an agent object can be thrown away between episodes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ocm.types import (
    Files,
    Inspection,
    MemoryUpdate,
    Message,
    Observation,
    Reply,
    TaskRef,
    Trajectory,
    TurnKind,
    Verdict,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """What an agent may look at before one turn: only what happened so far in this episode."""

    task: TaskRef
    rules: str
    step_limit: int
    observation: Observation
    """Goal and o0."""
    transcript: Sequence[Message]
    """The dialogue since o0: replies, observations, inspected source, corrective messages."""
    steps_taken: int
    inspections: Sequence[Inspection]
    memory: Files
    last_used: Mapping[str, int]
    """Path or name of knowledge -> episode in which it was last inspected or written."""
    correcting: bool = False
    """Whether the last turn was malformed and this is its one correction."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One turn: an action, an inspect request, or a malformed reply."""

    kind: TurnKind
    thought: str
    content: str
    """The action; the inspected names joined by ``", "``; or why the reply is malformed."""
    reply: str
    """The model's reply as it came."""
    said: str
    """What stands in the dialogue from then on: thought and decision, without what came after."""
    inspection: Inspection | None = None
    """The answered request, when the turn is an inspect: no model call, no environment step."""


class Bench(Protocol):
    """What an agent may use of the world: a backbone, a sandbox, a clock for its stages."""

    async def complete(
        self, purpose: str, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Ask the backbone; the call is recorded on the episode."""
        ...

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        """Execute every procedure against a candidate K_o in the sandbox."""
        ...

    async def stage(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run a named stage of the episode; its seconds are recorded."""
        ...


class Agent(Protocol):
    """A method."""

    async def act(self, view: View, bench: Bench) -> Decision:
        """Take one turn: one call of the backbone."""
        ...

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Learn from a finished episode. A failure leaves the memory as it was."""
        ...


__all__ = ["Agent", "Bench", "Decision", "View"]
