"""ASI (arXiv 2504.06821; zorazrw/agent-skill-induction): skills as actions, on one page.

Taken over: skills are Python functions that are part of the action space, with their whole source in the
acting prompt. After a success, one call induces skills together with the same episode written again with
them; they are kept only where executing that on the same task succeeds, and their own actions are valid and
change something: all of them or none. Only successes are learned from.

Changed for the online one-pass setting:

- The environment's outcome takes the place of a judge, and the rewritten rest of the episode is replayed in
  place of letting the model go on after the first skill call.
- Each action within a skill is one environment step; in the original a whole skill is one.
- A skill reads what it sees: ``act`` returns the observation, and ``last_observation`` hands out the last
  one. The original's skills act on element ids of a web page that they are given.
- The induction sees signatures and docstrings of the known skills, so that it writes no copies.
- Episodes are cleaned by rules: invalid steps go, and a thought keeps its first sentence.
- Skills that are not called in the rewriting, or are refused unexecuted, drop out one by one; the others are
  kept or rejected together. There is no replay against recorded observations: every environment here can be
  started anew.
- A program in a reply is one call with literal arguments, not several lines of code.

Memory: ``skills/<name>.py``, one function each, and ``usage.json`` with the number of calls of each skill,
the oldest skill first. Calls are counted in every episode after which the library changes or nothing was to
be learned; a rejected induction leaves every byte as it was. Bound: ``max_skills`` and ``skill_tokens``. The
least used skill goes first, the oldest of equals; skills that were just induced stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents.acting import take_turn
from agents.asi.induction import PROMPTS, Proposal, cleaned, induce, looked_at
from agents.asi.library import skill_path, skills_in, usage_in, with_calls, with_skills, with_usage
from agents.asi.replay import verify
from agents.asi.settings import AsiSettings
from agents.parsing import UnreadableReply
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.skills.program import Call, Script, ScriptProgram
from agents.skills.source import Function, NoCall, read_call
from knowledge_store.memory import diff
from ocm.types import Files, MemoryUpdate, Trajectory, TurnKind, UpdateOutcome, VerificationRound

REPLAY_FACTOR = 2
"""Steps that a replay may take, in those of its episode; an environment's own limit may end it before."""


class AsiAgent:
    """Acts with single actions and calls of its skills, and induces new ones from successes."""

    def __init__(self, settings: AsiSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        skills = skills_in(view.memory)
        decision = await take_turn(view, bench, _memory_text(skills))
        if decision.kind is not TurnKind.ACTION or not skills:
            return decision
        try:
            call = read_call(decision.content)
        except NoCall as problem:
            return replace(decision, kind=TurnKind.MALFORMED, content=str(problem))
        return await _called(decision, call, skills, view, bench) if call else decision

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Induce and verify. Any failure leaves the memory as it was, and says why."""
        usage = with_calls(usage_in(memory), trajectory)
        episode = cleaned(trajectory)
        if not trajectory.success:
            return _nothing(memory, usage, "only successes are learned from")
        if len(episode.steps) < self.settings.min_steps:
            return _nothing(memory, usage, f"fewer than {self.settings.min_steps} valid actions")
        known = skills_in(memory)
        try:
            proposal = await bench.stage("update", lambda: induce(episode, known, self.settings, bench))
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"unreadable skills: {problem}")
        if not proposal.skills:
            return _nothing(memory, usage, "no skill was proposed")
        most = REPLAY_FACTOR * len(trajectory.steps)
        kept, rounds = await self._verified(proposal, known, most, bench)
        if not kept:
            failed = [verdict for verdict in rounds[-1].verdicts if not verdict.ok]
            reason = "; ".join(f"{verdict.path}: {verdict.kind}" for verdict in failed)
            return MemoryUpdate(UpdateOutcome.REJECTED, reason=reason, rounds=rounds)
        after = with_skills(memory, usage, kept, self.settings)
        return MemoryUpdate(UpdateOutcome.COMMITTED, diff(memory, after), rounds=rounds)

    async def _verified(
        self, proposal: Proposal, known: Mapping[str, Function], steps: int, bench: Bench
    ) -> tuple[tuple[Function, ...], tuple[VerificationRound, ...]]:
        """The skills to keep, none or all that look well, and the verdicts that decided it.

        Args:
            steps: that the replay may take.
        """
        verdicts = looked_at(proposal, known, self.settings)
        pairs = zip(proposal.skills, verdicts, strict=True)
        new = tuple(skill for skill, verdict in pairs if verdict.ok)
        rounds: tuple[VerificationRound, ...] = (
            () if len(new) == len(verdicts) else (VerificationRound(0, tuple(verdicts)),)
        )
        if not new:
            return (), rounds
        replayed = await bench.stage("verify", lambda: verify(proposal.lines, new, known, steps, bench))
        rounds = (*rounds, VerificationRound(len(rounds), replayed))
        return (new if rounds[-1].ok else ()), rounds


async def _called(
    decision: Decision, call: Call, skills: Mapping[str, Function], view: View, bench: Bench
) -> Decision:
    """The call as a program; malformed where it is of no skill, or does not come to an action."""
    skill = skills.get(call.name)
    if skill is None:
        reason = f"there is no skill {call.name}; the skills are {', '.join(skills)}"
        return replace(decision, kind=TurnKind.MALFORMED, content=reason)
    before = view.exchanges[-1].observation if view.exchanges else view.observation.text
    program = ScriptProgram(Script(skill_path(call.name), skill.source, call, before), bench)
    if await program.next(()) is None:
        reason = f"{call.name} did not come to an action: {program.ending}"
        return replace(decision, kind=TurnKind.MALFORMED, content=reason)
    return replace(decision, kind=TurnKind.PROGRAM, program=program)


def _memory_text(skills: Mapping[str, Function]) -> str:
    """The skills as part of the action space."""
    if not skills:
        return ""
    return fill(PROMPTS, "memory", skills="\n\n".join(skill.source.strip() for skill in skills.values()))


def _nothing(memory: Files, usage: Mapping[str, int], reason: str) -> MemoryUpdate:
    """Nothing to learn; the calls are counted where there were some."""
    delta = diff(memory, with_usage(memory, usage))
    if delta:
        return MemoryUpdate(UpdateOutcome.COMMITTED, delta)
    return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=reason)
