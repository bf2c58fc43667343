"""Update: learning plan to code delta, verified and repaired (paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.asking import ask
from agents.ocm.plan import LearningPlan
from agents.ocm.reflect import PROMPTS, episode_texts, parts
from agents.ocm.settings import OcmSettings
from agents.parsing import CodeReply, UnreadableReply, parse_code
from agents.prompts import fill
from agents.protocol import Bench
from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import MergeError, PathError
from knowledge_store.inspection import resolve
from knowledge_store.memory import OBJECTS, PROCEDURES, apply, diff
from knowledge_store.merge import merge
from knowledge_store.rules import check
from ocm.types import (
    Change,
    Delta,
    Files,
    MemoryUpdate,
    Message,
    Reply,
    Trajectory,
    UpdateOutcome,
    Verdict,
    VerificationRound,
)

REPORTED_FAILURES = 8
"""Failed verdicts that one repair prompt shows; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is not committed yet, and why it could not even be put together."""

    files: Files
    problems: tuple[Verdict, ...] = ()


async def update(
    plan: LearningPlan, trajectory: Trajectory, memory: Files, settings: OcmSettings, bench: Bench
) -> MemoryUpdate:
    """Propose, verify, repair; commit all of it or nothing.

    Raises:
        UnreadableReply: two replies in a row held no readable code.
    """
    messages = list(_opening(plan, trajectory, memory, settings))
    candidate = Candidate(memory)
    rounds: list[VerificationRound] = []
    for number in range(settings.max_repairs + 1):
        purpose = "repair" if number else "update"
        code, said = await _propose(bench, purpose, messages)
        candidate = put_together(candidate.files, code, settings)
        if not candidate.problems and not diff(memory, candidate.files):
            return MemoryUpdate(
                UpdateOutcome.UNCHANGED, (), plan.to_json(), "the update changes nothing", tuple(rounds)
            )
        verdicts = await _verdicts(candidate, settings, bench)
        rounds.append(VerificationRound(number, verdicts))
        if rounds[-1].ok:
            delta = diff(memory, candidate.files)
            return MemoryUpdate(UpdateOutcome.COMMITTED, delta, plan.to_json(), "", tuple(rounds))
        messages += [Message("assistant", said), _repair_request(candidate.files, code, verdicts, settings)]
    return _rejected(plan, rounds)


def _rejected(plan: LearningPlan, rounds: Sequence[VerificationRound]) -> MemoryUpdate:
    failed = [verdict for verdict in rounds[-1].verdicts if not verdict.ok]
    reason = "; ".join(f"{verdict.path}: {verdict.kind}" for verdict in failed[:REPORTED_FAILURES])
    return MemoryUpdate(UpdateOutcome.REJECTED, (), plan.to_json(), reason, tuple(rounds))


async def _propose(bench: Bench, purpose: str, messages: Sequence[Message]) -> tuple[CodeReply, str]:
    async def work() -> tuple[CodeReply, str]:
        return await ask(bench, purpose, messages, _read)

    return await bench.stage("update", work)


def _read(reply: Reply) -> CodeReply:
    return parse_code(reply.text, reply.finish_reason)


async def _verdicts(candidate: Candidate, settings: OcmSettings, bench: Bench) -> tuple[Verdict, ...]:
    """The verdicts on a candidate: what cannot be put together fails before it is executed."""
    if candidate.problems or not settings.verification:
        return candidate.problems

    async def work() -> tuple[Verdict, ...]:
        objects = candidate.files.get(OBJECTS, "")
        procedures = {path: text for path, text in candidate.files.items() if path != OBJECTS}
        return check(objects, procedures) or await bench.verify(objects, procedures)

    return await bench.stage("verify", work)


def put_together(files: Files, code: CodeReply, settings: OcmSettings) -> Candidate:
    """The memory with a code reply merged in; what does not fit is a failed verdict, not an error.

    Parts that an ablation does not keep are left out.
    """
    problems: list[Verdict] = []
    changes: list[Change] = []
    if settings.objects and (code.objects.strip() or code.deleted_names):
        try:
            merged = merge(files.get(OBJECTS, ""), code.objects, code.deleted_names)
            changes.append(Change(OBJECTS, merged.text or None))
        except MergeError as error:
            problems.append(Verdict(OBJECTS, False, "syntax", str(error)))
    if settings.procedures:
        changes += [Change(path, text) for path, text in code.procedures.items()]
        changes += [Change(path, None) for path in code.deleted_files if path in files]
    try:
        return Candidate(apply(files, _inside(changes)), tuple(problems))
    except PathError as error:
        return Candidate(files, (*problems, Verdict(PROCEDURES, False, "static", str(error))))


def _inside(changes: Sequence[Change]) -> Delta:
    for change in changes:
        if change.path != OBJECTS and not change.path.startswith(PROCEDURES):
            raise PathError(f"{change.path!r} is neither objects.py nor in procedures/", path=change.path)
    return tuple(changes)


# --- prompts -----------------------------------------------------------------------------------


def _opening(
    plan: LearningPlan, trajectory: Trajectory, memory: Files, settings: OcmSettings
) -> tuple[Message, Message]:
    rule = "objects" if settings.objects else "alone"
    system = fill(
        PROMPTS,
        "update_system",
        parts=parts(settings),
        procedure_rule=fill(PROMPTS, f"procedure_rule_{rule}"),
        modules=", ".join(sorted(ALLOWED_MODULES)),
    )
    user = fill(
        PROMPTS,
        "update_user",
        plan=plan.to_json(),
        source=_source(memory, plan.names_to_read(), settings),
        **episode_texts(trajectory, memory, settings),
    )
    return Message("system", system), Message("user", user)


def _source(files: Files, names: Sequence[str], settings: OcmSettings) -> str:
    return resolve(files, names, settings.inspect_chars).text if names and files else "None."


def _repair_request(
    files: Files, code: CodeReply, verdicts: Sequence[Verdict], settings: OcmSettings
) -> Message:
    """What failed, and the source of failing files that the model has not just written."""
    failed = [verdict for verdict in verdicts if not verdict.ok]
    shown = failed[:REPORTED_FAILURES]
    unseen = [verdict.path for verdict in shown if verdict.path in files and verdict.path not in code.procedures]
    source = f"\n{_source(files, unseen, settings)}\n" if unseen and unseen != [OBJECTS] else ""
    reports = "\n\n".join(_report(verdict) for verdict in shown)
    more = f"\n\n… and {len(failed) - len(shown)} more." if len(failed) > len(shown) else ""
    return Message(
        "user", fill(PROMPTS, "repair", count=len(failed), reports=reports + more, source=source)
    )


def _report(verdict: Verdict) -> str:
    printed = f"\nprinted:\n{verdict.output}" if verdict.output else ""
    return f"### {verdict.path} ({verdict.kind})\n```text\n{_fenceless(verdict.report + printed)}\n```"


def _fenceless(text: str) -> str:
    """A report that cannot close the fence it stands in."""
    return text.replace("```", "'''").rstrip()


__all__ = ["Candidate", "UnreadableReply", "put_together", "update"]
