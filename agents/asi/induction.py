"""Induction: a successful episode to skills, and the same episode written again with them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from textwrap import indent

from agents.asi.library import fits, skill_path
from agents.asi.settings import AsiSettings
from agents.asking import ask
from agents.parsing import UnreadableReply, fenced_blocks, strip_thinking
from agents.prompts import fill
from agents.protocol import Bench
from agents.rendering import outcome, render, without_invalid_steps
from agents.skills.source import RESERVED, Function, NoCall, functions, has_function, hygiene, read_call
from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import ParseError
from ocm.types import Message, Reply, Trajectory, Turn, TurnKind, Verdict

PROMPTS = "agents.asi.prompts"
SOURCE_CHARS = 3_000
"""Characters of one skill."""
NAME_CHARS = 60
_NOTHING = re.compile(r"^[\s>*_#`\-]*no skills?\b", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(r"^(?:\d+[.)]\s+|[-*]\s+)?(?:Action:\s*)?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a reply proposes."""

    skills: tuple[Function, ...] = ()
    lines: tuple[str, ...] = ()
    """The episode again: one action or call each."""


async def induce(
    trajectory: Trajectory, known: Mapping[str, Function], settings: AsiSettings, bench: Bench
) -> Proposal:
    """Ask for skills.

    Args:
        trajectory: cleaned, see :func:`cleaned`.

    Raises:
        UnreadableReply: two replies in a row were not in the form.
    """
    system = fill(
        PROMPTS,
        "induce_system",
        modules=", ".join(sorted(ALLOWED_MODULES)),
        min_acts=settings.min_acts,
        max_lines=settings.max_lines,
    )
    user = fill(
        PROMPTS,
        "induce_user",
        goal=trajectory.goal,
        outcome=outcome(trajectory),
        trajectory=render(trajectory, settings.trajectory_chars),
        knowledge="\n\n".join(map(_entry, known.values())) or "Nothing yet.",
    )
    messages = (Message("system", system), Message("user", user))
    proposal, _ = await ask(bench, "induce", messages, read_proposal, temperature=settings.temperature)
    return proposal


def _entry(skill: Function) -> str:
    """A known skill without its body."""
    return f'def {skill.signature}:\n    """{indent(skill.docstring, "    ").strip()}"""'


def cleaned(trajectory: Trajectory) -> Trajectory:
    """The episode without invalid steps, each thought cut to its first sentence, calls of skills named."""
    forward = without_invalid_steps(trajectory)
    return replace(forward, turns=tuple(map(_told, forward.turns)))


def _told(turn: Turn) -> Turn:
    sentence = _SENTENCE.split(turn.thought.strip(), maxsplit=1)[0]
    called = f" (by the skill call {turn.content})" if turn.kind is TurnKind.PROGRAM else ""
    return replace(turn, thought=f"{sentence}{called}".strip())


# --- reading -----------------------------------------------------------------------------------


def read_proposal(reply: Reply) -> Proposal:
    """The functions of a reply and its last block without one, which is the rewritten episode.

    Raises:
        UnreadableReply: there are none, or the code is no Python.
    """
    text = strip_thinking(reply.text)
    if "```" not in text and _NOTHING.search(text):
        return Proposal()
    blocks = fenced_blocks(reply.text, reply.finish_reason)
    skills = tuple(skill for block in blocks if has_function(block) for skill in _functions(block))
    rest = [block for block in blocks if not has_function(block)]
    if not skills:
        raise UnreadableReply("the reply holds no function; if there is nothing to learn, write NO SKILLS")
    if not rest:
        raise UnreadableReply("the rewritten episode is missing: a block with one action or call per line")
    lines = (_LABEL.sub("", line.strip()).strip("`") for line in rest[-1].splitlines())
    return Proposal(skills, tuple(line for line in lines if line and not line.startswith("#")))


def _functions(block: str) -> list[Function]:
    try:
        return functions(block)
    except ParseError as error:
        raise UnreadableReply(f"a block is no Python: {error.reason} (line {error.line})") from error


# --- what can be told from the text -------------------------------------------------------------


def looked_at(proposal: Proposal, known: Mapping[str, Function], settings: AsiSettings) -> list[Verdict]:
    """One verdict per proposed skill, from its text alone: ``static`` or ``ok``."""
    called = set(_called(proposal.lines))
    names = [skill.name for skill in proposal.skills]
    found: list[Verdict] = []
    good: list[str] = []
    for skill in proposal.skills:
        problem = _problem(skill, settings)
        if skill.name in known or names.count(skill.name) > 1:
            problem = "the name is taken"
        elif not problem and skill.name not in called:
            problem = "the rewritten episode does not call it"
        elif not problem and not fits([*good, skill.source], settings):
            problem = "with those before it, it is more than all skills may be"
        good += [] if problem else [skill.source]
        path = skill_path(skill.name if _is_name(skill.name) else "unnamed")
        found.append(Verdict(path, not problem, "static" if problem else "ok", problem))
    return found


def _called(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        try:
            call = read_call(line)
        except NoCall:
            continue
        if call:
            yield call.name


def _is_name(name: str) -> bool:
    return name.isascii() and len(name) <= NAME_CHARS


def _problem(skill: Function, settings: AsiSettings) -> str:
    if not _is_name(skill.name) or skill.name in RESERVED or hasattr(builtins, skill.name):
        return "the name cannot be used"
    if len(skill.source) > SOURCE_CHARS or "```" in skill.source:
        return f"its source is longer than {SOURCE_CHARS} characters, or holds a fence"
    if problem := hygiene(skill.source):
        return problem
    if skill.lines > settings.max_lines:
        return f"its body has {skill.lines} lines of {settings.max_lines}"
    if skill.acts < settings.min_acts:
        return f"it acts {skill.acts} times of at least {settings.min_acts}"
    if any(isinstance(node, ast.Try | ast.TryStar) for node in ast.walk(skill.node)):
        return "it handles exceptions"
    return ""
