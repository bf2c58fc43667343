"""An acting prompt as data: goal, memory in view, and what was done and seen so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from backbones.scripted.index import Index, index_in
from ocm.types import Message

_STEP = re.compile(r"Observation \(after action (\d+) of \d+\):\s*")
_LIMIT = re.compile(r"at most (\d+) actions")
_INSPECTED = re.compile(r"^Inspect\[(.*)\]\s*$", re.MULTILINE)
_SAID = re.compile(r"^Action: (.*)", re.MULTILINE | re.DOTALL)
_TAKEN = re.compile(r"^> (.*)\n", re.MULTILINE)
"""An action within the report of a program."""
_AFTERWARDS = re.compile(
    r"\n(?:It came to its end\.|It was ended |An error ended it: |\nCritique: )[\s\S]*\Z"
)
"""What is said of a program behind what it saw."""
_CORRECTION = "That reply could not be used"
_NOT_SENT = "The action was not sent"
_LAST_RULE = "write nothing after it: the environment answers."
"""The memory of any method stands behind it."""
USUAL_LIMIT = 30


@dataclass(frozen=True)
class Exchange:
    """One action and what the environment answered."""

    said: str
    """The agent's whole turn."""
    observation: str

    @property
    def action(self) -> str:
        """The action alone; empty where the turn had none."""
        found = _SAID.search(self.said)
        return found[1].strip() if found else ""


@dataclass(frozen=True)
class Dialogue:
    """An episode as its acting prompt shows it."""

    opening: str
    """Goal and o0."""
    known: str
    """The memory in the system prompt; empty where there is none."""
    index: Index
    exchanges: tuple[Exchange, ...]
    shown: tuple[str, ...]
    """The answers to inspects, in order."""
    asked: frozenset[str]
    """Names that were inspected, found or not."""
    steps_left: int
    inspects_left: int
    """Before the next action."""
    held_back: frozenset[str] = frozenset()
    """Actions that the method did not send, since the last one that it sent."""
    objections: str = ""
    """Why it did not, over the whole episode."""


@dataclass
class _Hearing:
    """What the messages after the goal say; :meth:`hear` takes them one by one."""

    exchanges: list[Exchange] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    held_back: list[str] = field(default_factory=list)
    objections: list[str] = field(default_factory=list)
    steps: int = 0
    requests_since_action: int = 0
    is_corrected: bool = False
    said: str = ""

    def hear(self, message: Message) -> None:
        text = message.content
        if message.role == "assistant":
            self.said = text
            return
        self.is_corrected = text.startswith(_CORRECTION)
        if self.is_corrected:
            return
        if step := _STEP.match(text):
            self.exchanges += _exchanges(self.said, text[step.end() :])
            self.steps, self.requests_since_action = int(step[1]), 0
            self.held_back = []
        elif names := _INSPECTED.search(self.said):
            self.asked += names[1].split(", ")
            self.requests_since_action += 1
            self.shown.append(text)
        elif text.startswith(_NOT_SENT):
            self.held_back.append(Exchange(self.said, text).action)
            self.objections.append(text)


def _exchanges(said: str, observation: str) -> list[Exchange]:
    """One exchange; of a program, one for each of its actions whose observation is shown whole."""
    if not observation.startswith("> "):
        return [Exchange(said, observation)]
    _, *parts = _TAKEN.split(_AFTERWARDS.sub("", observation))
    taken = zip(parts[::2], parts[1::2], strict=True)
    return [Exchange(f"Action: {action}", seen) for action, seen in taken if not seen.rstrip().endswith("…")]


def read_dialogue(messages: Sequence[Message]) -> Dialogue:
    """The episode so far, from the messages of an acting call: system, goal and o0, then the transcript."""
    system = messages[0].content
    known = system.partition(_LAST_RULE)[2].strip()
    index = index_in(known)
    heard = _Hearing()
    for message in messages[2:]:
        heard.hear(message)
    limit = _LIMIT.search(system)
    left = min(index.per_step - heard.requests_since_action, index.per_episode - len(heard.shown))
    return Dialogue(
        opening=messages[1].content,
        known=known,
        index=index,
        exchanges=tuple(heard.exchanges),
        shown=tuple(heard.shown),
        asked=frozenset(heard.asked),
        steps_left=(int(limit[1]) if limit else USUAL_LIMIT) - heard.steps,
        inspects_left=0 if heard.is_corrected else left,
        held_back=frozenset(heard.held_back),
        objections="\n".join(heard.objections),
    )
