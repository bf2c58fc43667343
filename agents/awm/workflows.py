"""``workflows.md``: routines in words, in the order in which they were first written.

::

    ## name
    when: the situation
    1. what is seen -> why -> the action

The same form is asked of a model. A workflow that is written again keeps its place, so that a diff of
two memories shows what changed in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.parsing.text import FENCE, lines_of

PATH = "workflows.md"
MAX_STEPS = 20
MAX_CHARS = 4_000
"""Of one workflow as it is written."""
MAX_BLOCK = 4 * MAX_CHARS
"""Characters of a block as a model wrote it, also of what is not kept: a longer one is not read."""

_HEADING = re.compile(r"[ \t]*+#++(?P<name>.*)")
_WHEN = re.compile(r"[\s>*_`-]*+when(?:\s++to\s++use(?:\s++it)?+)?+[\s*_`]*+:(?P<text>.*)", re.IGNORECASE)
_STEP = re.compile(r"\s*+(?:\d++[.):]|step\s++\d++[.):]|[-*•])\s++(?P<text>.*)", re.IGNORECASE)
_CONTINUED = re.compile(r"[ \t]++\S|->|→|=>|⇒")
_ARROW = re.compile(r"->|→|=>|⇒")
_TITLE = re.compile(r"workflow\s*+\d*+[\s*_`]*+[:.)-]", re.IGNORECASE)
_LABEL = re.compile(r"(?:observation|reasoning|thought|action)[\s*_`]*+:", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_MARKUP = " *`"


@dataclass(frozen=True, slots=True)
class Workflow:
    """One routine."""

    name: str
    when: str
    """The situation in which it helps; empty where the model did not say."""
    steps: tuple[str, ...]
    """Each on one line: parts joined by `` -> ``, the last of which is the action."""

    @property
    def key(self) -> str:
        """The name's words: workflows of the same key are the same."""
        return " ".join(_WORD.findall(self.name.lower()))

    @property
    def text(self) -> str:
        when = f"when: {self.when}\n" if self.when else ""
        steps = "".join(f"{number}. {step}\n" for number, step in enumerate(self.steps, start=1))
        return f"## {self.name}\n{when}{steps}"


def written(workflows: Iterable[Workflow]) -> str:
    """The file's text."""
    return "\n".join(workflow.text for workflow in workflows)


def read(text: str, min_steps: int = 1) -> list[Workflow]:
    """The workflows in a text: a model's reply, or a file that :func:`written` made.

    A block is dropped where its name has no word, where it has fewer than ``min_steps`` steps that end
    with an action or more than a routine has, and where it is longer than one may be.
    """
    found = (_workflow(block) for block in _blocks(text) if sum(map(len, block)) <= MAX_BLOCK)
    return merged([], (one for one in found if _is_kept(one, min_steps)))


def merged(old: Sequence[Workflow], new: Iterable[Workflow]) -> list[Workflow]:
    """Both; what has a name that is already there takes its place."""
    by_key = {workflow.key: workflow for workflow in old}
    for workflow in new:
        by_key[workflow.key] = workflow
    return list(by_key.values())


def in_order_of(old: Sequence[Workflow], new: Sequence[Workflow]) -> list[Workflow]:
    """The new ones, those first that were among the old, in their order."""
    place = {workflow.key: number for number, workflow in enumerate(old)}
    return sorted(new, key=lambda workflow: place.get(workflow.key, len(old)))


def newest(workflows: Sequence[Workflow], most: int, chars: int) -> list[Workflow]:
    """Without the oldest, so many that the others are at most ``most`` and take at most ``chars``."""
    kept = list(workflows)
    while len(kept) > most or len(written(kept)) > chars:
        kept.pop(0)
    return kept


def _is_kept(workflow: Workflow, min_steps: int) -> bool:
    few = min_steps <= len(workflow.steps) <= MAX_STEPS
    return few and bool(workflow.key) and len(workflow.text) <= MAX_CHARS


def _blocks(text: str) -> list[list[str]]:
    """The lines of each block, its heading first."""
    blocks: list[list[str]] = []
    for line in lines_of(text):
        if _HEADING.match(line):
            blocks.append([line])
        elif blocks and line.strip() and not FENCE.match(line):
            blocks[-1].append(line)
    return blocks


def _workflow(block: Sequence[str]) -> Workflow:
    heading, *lines = block
    when, steps = "", list[str]()
    for line in lines:
        if not steps and (match := _WHEN.match(line)):
            when = when or match["text"]
        elif match := _STEP.match(line):
            steps.append(match["text"])
        elif steps and _CONTINUED.match(line):
            steps[-1] += f" {line}"
    name = _HEADING.sub(r"\g<name>", heading)
    return Workflow(
        _bare(name.rstrip("# \t"), _TITLE),
        _bare(when),
        tuple(step for step in map(_step, steps) if step),
    )


def _step(text: str) -> str:
    """A step on one line; empty where it has no action, or nothing but one."""
    *seen, action = (_bare(part, _LABEL) for part in _ARROW.split(text))
    return " -> ".join([*filter(None, seen), action]) if any(seen) and action else ""


def _bare(text: str, label: re.Pattern[str] | None = None) -> str:
    """A text on one line, without what models put around it."""
    text = " ".join(text.split()).strip(_MARKUP)
    while label and (match := label.match(text)):
        text = text[match.end() :].strip(_MARKUP)
    return text
