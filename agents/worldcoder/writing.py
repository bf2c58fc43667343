"""How programs are asked for, and how a reply becomes a program. The code is parsed, never executed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.buffer import Outcome, Played
from agents.parsing import UnreadableReply, fenced_blocks
from agents.prompts import fill
from agents.worldcoder.sampling import Key
from agents.worldcoder.scoring import PROMPTS
from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import KnowledgeError, ParseError
from knowledge_store.merge import merge
from knowledge_store.outline import parse
from ocm.types import Message, Reply

RECENT = 5
"""Actions before a transition that are told with it."""
PREDICTED_CHARS = 500
EPISODE_CHARS = 24_000
TRIES = 50
"""Parses of one reply's code."""
_PART = re.compile(r"^(?=[A-Za-z_@])", re.MULTILINE)
"""Where a top-level statement may begin."""


# --- questions ---------------------------------------------------------------------------------


def from_nothing(episodes: Sequence[Played], keys: Sequence[Key]) -> tuple[Message, ...]:
    """Ask for a first program."""
    return _asked(fill(PROMPTS, "init", transitions=_transitions(episodes, keys)))


def refinement(
    program: str, episodes: Sequence[Played], explained: Sequence[Key], wrong: Sequence[tuple[Key, str]]
) -> tuple[Message, ...]:
    """Ask to mend a program; every wrong transition comes with what the program predicted."""
    shown = "\n\n".join(
        f"{_transition(episodes, key)}\nThe program predicted:\n{predicted[:PREDICTED_CHARS]}"
        for key, predicted in wrong
    )
    text = fill(
        PROMPTS,
        "refine",
        program=program.strip(),
        explained=_transitions(episodes, explained) or "(none)",
        wrong=shown,
    )
    return _asked(text)


def optimism(program: str, played: Played) -> tuple[Message, ...]:
    """Ask to mend a program that knows no plan for a task."""
    steps = [f"Goal: {played.goal}\nFirst observation:\n{played.first}"]
    steps += [_step(step) for step in played.steps]
    while sum(map(len, steps)) > EPISODE_CHARS and len(steps) > 3:
        steps.pop(len(steps) // 2)
    return _asked(fill(PROMPTS, "optimism", program=program.strip(), episode="\n\n".join(steps)))


def _asked(question: str) -> tuple[Message, ...]:
    system = fill(
        PROMPTS, "system", seed=fill(PROMPTS, "seed_belief"), modules=", ".join(sorted(ALLOWED_MODULES))
    )
    return (Message("system", system), Message("user", question))


def _transitions(episodes: Sequence[Played], keys: Sequence[Key]) -> str:
    return "\n\n".join(_transition(episodes, key) for key in keys)


def _transition(episodes: Sequence[Played], key: Key) -> str:
    played = next(one for one in episodes if one.number == key.episode)
    earlier = [step.action for step in played.steps[max(0, key.step - RECENT) : key.step]]
    return (
        f"## Episode {key.episode}, action {key.step + 1}\nGoal: {played.goal}\n"
        f"Actions before: {'; '.join(earlier) or '(none)'}\n"
        f"Observation before:\n{played.before(key.step)}\n{_step(played.steps[key.step])}"
    )


def _step(step: Outcome) -> str:
    word = "valid" if step.valid else "invalid"
    done = "the last action allowed" if step.done is None else "done" if step.done else "not done"
    return (
        f"Action: {step.action}\nOutcome: {word}, reward {step.reward:g}, {done}\n"
        f"Observation after:\n{step.observation}"
    )


# --- replies -----------------------------------------------------------------------------------


def program_in(reply: Reply, before: str, longest: int) -> str:
    """The program that a reply makes of the one before: later definitions override.

    Code that does not parse loses its end, top-level statement by statement, until it does.

    Raises:
        UnreadableReply: no code is left, or the program is too long or has no ``predict``.
    """
    code = "\n".join(fenced_blocks(reply.text, reply.finish_reason))
    if len(code) > longest:
        raise UnreadableReply(f"the code has {len(code)} characters of at most {longest}")
    try:
        code.encode()
        program = merge(before, _whole(code)).text
    except (KnowledgeError, UnicodeEncodeError) as error:
        raise UnreadableReply(str(error)) from error
    if len(program) > longest:
        raise UnreadableReply(f"the program has {len(program)} characters of at most {longest}")
    if not re.search(r"^(?:async )?def predict\(|^predict\s*=", program, re.MULTILINE):
        raise UnreadableReply("the program has no function predict(belief, action)")
    return program


def _whole(code: str) -> str:
    """A long beginning that parses, by top-level statements: what the parser stumbled over is left out."""
    parts = _PART.split(code)
    for _ in range(TRIES):
        beginning = "".join(parts)
        try:
            parse(beginning)
        except ParseError as error:
            parts = _before(parts, error.line)
            continue
        if beginning.strip():
            return beginning
        break
    raise UnreadableReply("the code does not parse")


def _before(parts: Sequence[str], line: int) -> list[str]:
    """The parts that end before a 1-based line; at least one part less."""
    kept: list[str] = []
    lines = 0
    for part in parts[:-1]:
        lines += part.count("\n")
        if line and lines >= line:
            break
        kept.append(part)
    return kept
