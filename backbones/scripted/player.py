"""What the stand-in needs for one environment: rules to play it, and to write down what was seen."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from backbones.scripted.code import Code
from backbones.scripted.dialogue import Dialogue
from backbones.scripted.report import Report


@dataclass(frozen=True)
class Move:
    """What to do, and the thought that goes with it."""

    thought: str
    text: str
    """An action, or an ``Inspect[...]``."""


class Player(Protocol):
    """The rules of one environment. All are pure functions of what a prompt shows."""

    def plays(self, opening: str) -> bool:
        """Whether goal and o0 are of this environment."""
        ...

    def decide(self, dialogue: Dialogue, seed: int) -> Move:
        """The next turn. ``seed`` decides between equals, the same for the whole episode."""
        ...

    def plan(self, report: Report) -> Mapping[str, Any]:
        """The learning plan, in OCM's form."""
        ...

    def write(self, report: Report) -> Code:
        """What an update should write, given the source that it was shown."""
        ...

    def tell(self, report: Report) -> tuple[str, ...]:
        """What was seen, in sentences that stand alone, what matters most to the goal first.

        PlanCraft's are read back from any memory in an acting prompt.
        """
        ...

    def mislead(self, report: Report, good: Code, chance: random.Random) -> Code:
        """A wrong version of the code that still runs: knowledge that states what was not observed.

        It fails only where a procedure asserts the observation. Equal to ``good`` where none fits.
        """
        ...
