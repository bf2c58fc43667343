"""A bench whose replies are a list, and whose sandbox is a function."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agents.protocol import Rehearsal
from ocm.types import (
    EndReason,
    Files,
    Inspection,
    Message,
    Observation,
    Reply,
    Step,
    TaskRef,
    Trajectory,
    Turn,
    TurnKind,
    Usage,
    Validity,
    Verdict,
)

T = TypeVar("T")
TASK = TaskRef("plancraft", "test.small", "TEST0001", "easy")
FIRST = Observation("Craft an oak_planks", "inventory: oak_log [I1] quantity 1")

Verify = Callable[[str, Files], tuple[Verdict, ...]]


def reply(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(text, finish_reason, Usage(10, 5), 0.0, 0.0, "fake-1")


def passes(objects: str, procedures: Files) -> tuple[Verdict, ...]:
    """A sandbox in which everything runs."""
    return tuple(Verdict(path, True, "ok") for path in sorted(procedures)) or (
        Verdict("objects.py", True, "ok"),
    )


def fails_with(word: str) -> Verify:
    """A sandbox in which a procedure fails that holds the word."""

    def verify(objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return tuple(
            Verdict(path, False, "exception", f"{path}, line 1: {word}")
            if word in text
            else Verdict(path, True, "ok")
            for path, text in sorted(procedures.items())
        )

    return verify


class FakeBench:
    """Answers from a list; an unexpected call fails the test."""

    def __init__(
        self, *replies: str | Reply, verify: Verify = passes, rehearsal: Rehearsal | None = None
    ) -> None:
        self.replies = [reply(each) if isinstance(each, str) else each for each in replies]
        self.asked: list[tuple[str, tuple[Message, ...], Mapping[str, Any] | None]] = []
        self.verified: list[tuple[str, dict[str, str]]] = []
        self.stages: list[str] = []
        self.temperatures: list[float | None] = []
        self._verify = verify
        self._rehearsal = rehearsal

    async def complete(
        self,
        purpose: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = None,
    ) -> Reply:
        assert self.replies, f"an unexpected call: {purpose}: {messages[-1].content}"
        self.temperatures.append(temperature)
        self.asked.append((purpose, tuple(messages), schema))
        return self.replies.pop(0)

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        self.verified.append((objects, dict(procedures)))
        return self._verify(objects, procedures)

    async def execute(self, path: str, source: str) -> Verdict:
        (verdict,) = self._verify("", {path: source})
        return verdict

    @asynccontextmanager
    async def rehearse(self) -> AsyncIterator[Rehearsal]:
        assert self._rehearsal is not None, "an unexpected rehearsal"
        yield self._rehearsal

    async def stage(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        self.stages.append(name)
        return await work()

    @property
    def purposes(self) -> list[str]:
        return [purpose for purpose, _, _ in self.asked]

    def prompt(self, call: int, message: int = -1) -> str:
        """The text of one message of one call."""
        return self.asked[call][1][message].content


def step(action: str = "look", *, done: bool = False, success: bool = False, text: str = "ok") -> Step:
    return Step(action, text, float(success), done, success, Validity.VALID)


def trajectory(*steps: Step, found: tuple[str, ...] = ()) -> Trajectory:
    played = steps or (
        step("move: from [I1] to [A1] with quantity 1"),
        step("smelt", done=True, success=True),
    )
    turns = tuple(
        Turn(number, TurnKind.ACTION, f"thought {number}", each.action, "", number - 1)
        for number, each in enumerate(played, start=1)
    )
    inspections = (Inspection(1, found, found, (), "source"),) if found else ()
    end = EndReason.SUCCESS if played[-1].success else EndReason.STEP_LIMIT
    return Trajectory(TASK, FIRST.goal, FIRST.text, played, turns, inspections, end)
