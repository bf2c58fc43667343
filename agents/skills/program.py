"""Code that acts, as a :class:`agents.protocol.Program`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.acting import program_report
from agents.execution import run
from agents.protocol import Bench
from agents.skills import harness
from ocm.types import Exchange, Files

ERROR = "An error ended it: "
"""How the report on a program that failed goes on."""
ACTION_CHARS = 1_000
"""Characters of one action."""
DATA_CHARS = 150_000
"""Characters of what one call is given, as they are written into the executed file: a sandbox takes 200,000
with the code."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function with literal arguments."""

    name: str
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script:
    """What is to be carried out."""

    path: str
    """What reports call the code."""
    source: str
    """Model-written; defines the function."""
    call: Call
    before: str
    """The observation before the first action."""
    library: Files = field(default_factory=dict)
    """Name -> source of functions that the code may call."""
    max_acts: int | None = None
    """Actions after which it is ended; None where only the episode's steps bound it."""


class ScriptProgram:
    """Carries a script out (:class:`agents.protocol.Program`): executed anew for each action."""

    def __init__(self, script: Script, bench: Bench) -> None:
        self.script = script
        self.problem = ""
        """What is wrong with the code, once it has failed."""
        self.ending = ""
        """How it ended; empty while it goes on."""
        self._bench = bench
        self._first: str | None = None

    async def next(self, taken: Sequence[Exchange]) -> str | None:
        if not taken and self._first is not None:
            return self._first  # agents ask for it, to see that there is one, and then hand the program on
        action, self.ending = await self._go_on(taken)
        self._first = self._first if taken else action
        return action

    def told(self, taken: Sequence[Exchange]) -> str:
        return program_report(taken, self.ending)

    async def _go_on(self, taken: Sequence[Exchange]) -> tuple[str | None, str]:
        """The next action, or how it ended."""
        script = self.script
        if len(taken) == script.max_acts:
            return None, f"It was ended after {len(taken)} actions, which is the most."
        data = {
            "call": [script.call.name, list(script.call.arguments), dict(script.call.named)],
            "library": dict(script.library),
            "before": script.before,
            "seen": [one.observation for one in taken],
        }
        if len(repr(json.dumps(data))) > DATA_CHARS:
            return None, "It was ended, since it has read more than a program may."
        ran = await run(self._bench, script.path, script.source, harness, data)
        problem = ran.problem or _action_problem(ran.value)
        if problem:
            self.problem = problem
            return None, f"{ERROR}{problem}"
        return (None, "It came to its end.") if ran.value is None else (str(ran.value), "")


def _action_problem(value: object) -> str:
    """Why what the sandbox handed out is no action; it may be forged."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return "act takes an action as text"
    if not value.strip() or len(value) > ACTION_CHARS or not value.isprintable():
        return f"act takes one line of printable text, at most {ACTION_CHARS} characters"
    return ""
