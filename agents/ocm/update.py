"""Update: learning plan to code delta, verified and repaired (paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.asking import ask
from agents.ocm.plan import LearningPlan
from agents.ocm.reflect import PROMPTS, episode_texts, parts
from agents.ocm.settings import OcmSettings
from agents.parsing import CodeReply, UnreadableReply, parse_code
from agents.prompts import fill
from agents.protocol import Bench
from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import MergeError, ParseError, PathError
from knowledge_store.inspection import resolve
from knowledge_store.memory import OBJECTS, PROCEDURES, apply, diff, procedures
from knowledge_store.merge import merge
from knowledge_store.rules import Limits, check, whole_problems
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
NOT_MERGED = "Nothing of the update of objects.py was taken: write all of its definitions again."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is not committed yet."""

    files: Files
    problems: tuple[Verdict, ...] = ()
    """What of the update could not be put in."""
    left_aside: tuple[str, ...] = ()
    """What the merge of ``objects.py`` ignored, and why."""


@dataclass(frozen=True, slots=True)
class _Settled:
    outcome: UpdateOutcome
    delta: Delta = ()
    reason: str = ""


async def update(
    plan: LearningPlan, trajectory: Trajectory, memory: Files, settings: OcmSettings, bench: Bench
) -> MemoryUpdate:
    """Propose, verify, repair; commit all of it or nothing.

    With verification off there is one proposal: what fits into the memory is committed unseen.
    """
    rounds: list[VerificationRound] = []
    try:
        settled = await _settle(plan, trajectory, memory, settings, bench, rounds)
    except UnreadableReply as problem:
        outcome = UpdateOutcome.REJECTED if rounds else UpdateOutcome.UNCHANGED
        settled = _Settled(outcome, reason=f"unreadable reply: {problem}")
    told = plan.to_json() if settings.reflection else ""
    return MemoryUpdate(settled.outcome, settled.delta, told, settled.reason, tuple(rounds))


async def _settle(
    plan: LearningPlan,
    trajectory: Trajectory,
    memory: Files,
    settings: OcmSettings,
    bench: Bench,
    rounds: list[VerificationRound],
) -> _Settled:
    """The rounds of one update, which are added to ``rounds`` as they end.

    Raises:
        UnreadableReply: two replies in a row held no readable code.
    """
    messages = list(_opening(plan, trajectory, memory, settings))
    candidate = Candidate(memory)
    for number in range(settings.max_repairs + 1):
        code, said = await _propose(bench, "repair" if number else "update", messages)
        candidate = put_together(candidate.files, code, settings)
        delta = diff(memory, candidate.files)
        if not settings.verification:
            return _unseen(candidate, delta, settings, rounds)
        if not candidate.problems and not delta:
            return _Settled(UpdateOutcome.UNCHANGED, reason="the update changes nothing")
        verdicts = candidate.problems or await _verdicts(candidate.files, settings, bench)
        rounds.append(VerificationRound(number, verdicts))
        if rounds[-1].ok:
            return _Settled(UpdateOutcome.COMMITTED, delta)
        messages += [Message("assistant", said), _repair_request(candidate, code, verdicts, settings)]
    return _Settled(UpdateOutcome.REJECTED, reason=_kinds(rounds[-1].verdicts))


def _limits(settings: OcmSettings) -> Limits:
    return Limits(memory_chars=settings.memory_chars, procedures=settings.max_procedures)


def _unseen(
    candidate: Candidate, delta: Delta, settings: OcmSettings, rounds: list[VerificationRound]
) -> _Settled:
    """The ablation's end of an update: what did not fit is recorded, all else is committed."""
    too_large = whole_problems(candidate.files, _limits(settings))
    if too_large and delta:
        return _Settled(UpdateOutcome.UNCHANGED, reason="; ".join(too_large))
    if candidate.problems:
        rounds.append(VerificationRound(0, candidate.problems))
    if delta:
        return _Settled(UpdateOutcome.COMMITTED, delta)
    reason = _kinds(candidate.problems) or "the update changes nothing"
    return _Settled(UpdateOutcome.UNCHANGED, reason=reason)


def _kinds(verdicts: Sequence[Verdict]) -> str:
    failed = [verdict for verdict in verdicts if not verdict.ok]
    return "; ".join(f"{verdict.path}: {verdict.kind}" for verdict in failed[:REPORTED_FAILURES])


async def _propose(bench: Bench, purpose: str, messages: Sequence[Message]) -> tuple[CodeReply, str]:
    async def work() -> tuple[CodeReply, str]:
        return await ask(bench, purpose, messages, _read)

    return await bench.stage("update", work)


def _read(reply: Reply) -> CodeReply:
    return parse_code(reply.text, reply.finish_reason)


async def _verdicts(files: Files, settings: OcmSettings, bench: Bench) -> tuple[Verdict, ...]:
    """Static rules first; what passes them is executed."""

    async def work() -> tuple[Verdict, ...]:
        objects, kept = files.get(OBJECTS, ""), procedures(files)
        failures = check(objects, kept, _limits(settings), needs_objects=settings.objects)
        return failures or await bench.verify(objects, kept)

    return await bench.stage("verify", work)


# --- putting an update in ----------------------------------------------------------------------


def put_together(files: Files, code: CodeReply, settings: OcmSettings) -> Candidate:
    """The memory with all of a code reply in it that fits; the rest are failed verdicts, not errors.

    Parts that an ablation does not keep are left out.
    """
    candidate = Candidate(files)
    if settings.objects and (code.objects.strip() or code.deleted_names):
        candidate = _with_objects(files, code)
    return _with_procedures(candidate, code) if settings.procedures else candidate


def _with_objects(files: Files, code: CodeReply) -> Candidate:
    try:
        merged = merge(files.get(OBJECTS, ""), code.objects, code.deleted_names)
    except (MergeError, ParseError) as error:
        kind = "syntax" if isinstance(error, ParseError) else "static"
        return Candidate(files, (Verdict(OBJECTS, False, kind, f"{error}\n{NOT_MERGED}"),))
    change = Change(OBJECTS, merged.text or None)
    return Candidate(apply(files, (change,)), left_aside=tuple(map(str, merged.ignored)))


def _with_procedures(candidate: Candidate, code: CodeReply) -> Candidate:
    files, problems = candidate.files, list(candidate.problems)
    changes = [Change(path, text) for path, text in code.procedures.items()]
    for change in (*changes, *(Change(path, None) for path in code.deleted_files)):
        try:
            files = apply(files, (_inside(change),))
        except PathError as error:
            problems.append(Verdict(PROCEDURES, False, "static", str(error)))
    return Candidate(files, tuple(problems), candidate.left_aside)


def _inside(change: Change) -> Change:
    if not change.path.startswith(PROCEDURES):
        raise PathError(f"{change.path!r} is neither objects.py nor in procedures/", path=change.path)
    return change


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
        plan=plan.to_json() if settings.reflection else fill(PROMPTS, "no_plan"),
        source=_source(memory, _names_to_read(plan, memory), settings),
        **episode_texts(trajectory, memory, settings),
    )
    return Message("system", system), Message("user", user)


def _names_to_read(plan: LearningPlan, memory: Files) -> list[str]:
    """What the plan asks for or changes, and what it would create although it exists."""
    existing = [name for name in plan.created() if resolve(memory, [name]).found]
    return [*plan.names_to_read(), *existing]


def _source(files: Files, names: Sequence[str], settings: OcmSettings) -> str:
    return resolve(files, names, settings.source_chars).text if names and files else "None."


def _repair_request(
    candidate: Candidate, code: CodeReply, verdicts: Sequence[Verdict], settings: OcmSettings
) -> Message:
    """What failed, and the source of failing files that the model has not just written."""
    failed = [verdict for verdict in verdicts if not verdict.ok]
    shown = failed[:REPORTED_FAILURES]
    reports = [_report(verdict) for verdict in shown]
    if len(failed) > len(shown):
        reports.append(f"… and {len(failed) - len(shown)} more.")
    if candidate.left_aside:
        reports.append(_section(f"{OBJECTS} (left aside)", "\n".join(candidate.left_aside)))
    unseen = list(_unseen_files(candidate.files, code, shown, settings))
    source = f"\n{_source(candidate.files, unseen, settings)}\n" if unseen else ""
    text = fill(PROMPTS, "repair", count=len(failed), reports="\n\n".join(reports), source=source)
    return Message("user", text)


def _unseen_files(
    files: Files, code: CodeReply, failed: Iterable[Verdict], settings: OcmSettings
) -> Iterable[str]:
    """Failing files that the reply did not hold whole; ``objects.py`` only where it has room."""
    for verdict in failed:
        text = files.get(verdict.path, "")
        too_long = verdict.path == OBJECTS and len(text) > settings.source_chars
        if text and verdict.path not in code.procedures and not too_long:
            yield verdict.path


def _report(verdict: Verdict) -> str:
    printed = f"\nprinted:\n{verdict.output}" if verdict.output else ""
    return _section(f"{verdict.path} ({verdict.kind})", verdict.report + printed)


def _section(title: str, text: str) -> str:
    """A heading and a text that cannot close the fence it stands in."""
    return f"### {title}\n```text\n{text.replace('```', chr(39) * 3).rstrip()}\n```"


__all__ = ["Candidate", "put_together", "update"]
