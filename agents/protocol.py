"""The Agent protocol: how a method acts, and how it learns from an episode.

All state is in the memory: an agent object can be thrown away between episodes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ocm.types import (
    Exchange,
    Files,
    Inspection,
    MemoryUpdate,
    Message,
    Observation,
    Reply,
    Step,
    TaskRef,
    Trajectory,
    Turn,
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
    turns: Sequence[Turn] = ()
    """All turns so far, malformed and vetoed ones included."""
    exchanges: Sequence[Exchange] = ()
    """All environment steps so far, without validity and reward: those are not shown while acting."""


class Program(Protocol):
    """Code that acts after one reply, for one step or more."""

    async def next(self, taken: Sequence[Exchange]) -> str | None:
        """The next action, given all that this program has done so far; None when it has ended.

        The first one is never None: a program without any action is a malformed turn.
        """
        ...

    def told(self, taken: Sequence[Exchange]) -> str:
        """What the agent is told about it afterwards, as an observation."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """One turn: an action, a program, an inspect request, a vetoed action, or a malformed reply."""

    kind: TurnKind
    thought: str
    content: str
    """The action; the program; the inspected names joined by ``", "``; or why the reply is malformed."""
    reply: str
    """The model's reply as it came."""
    said: str
    """What stands in the dialogue from then on: thought and decision, without what came after."""
    inspection: Inspection | None = None
    """The answered request, when the turn is an inspect: no model call, no environment step."""
    program: Program | None = None
    """What acts, when the turn is a program."""
    veto: str = ""
    """What the agent is told, when the turn is a vetoed action."""


class Rehearsal(Protocol):
    """Another instance of the episode's own task, to try out what was learned from it."""

    async def reset(self) -> Observation:
        """Start, or start again."""
        ...

    async def step(self, action: str) -> Step:
        """Carry out one action; it is counted on the episode as a rehearsal step."""
        ...


class Bench(Protocol):
    """What an agent may use of the world: a backbone, a sandbox, a clock for its stages."""

    async def complete(
        self,
        purpose: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Ask the backbone; the call is recorded on the episode.

        Args:
            purpose: what the call is for, as recorded and counted.
            messages: the prompt.
            schema: JSON schema of the wanted reply, or None for free text.
            temperature: None for the backbone's own.
        """
        ...

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        """Execute every procedure against a candidate K_o in the sandbox."""
        ...

    async def execute(self, path: str, source: str) -> Verdict:
        """Execute one file in the sandbox, alone. Its verdict holds what it printed.

        Args:
            path: what error reports call the file.
            source: model-written code, followed by what is to be done with it.
        """
        ...

    def rehearse(self) -> AbstractAsyncContextManager[Rehearsal]:
        """Another instance of the episode's task, for learning only."""
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


__all__ = ["Agent", "Bench", "Decision", "Program", "Rehearsal", "View"]
