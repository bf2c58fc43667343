"""REx: which program to refine, by Thompson sampling (arXiv 2405.17503), under a budget of calls.

Arms are "from nothing" with Beta(1, 1), and "refine this program" with Beta(1 + C h, 1 + C (1 - h)) for a
program of score h. A call without full success adds a failure to its arm; a new program that explains
something is a new arm. The sample that programs are scored on stays the same for the whole search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from agents.buffer import Played
from agents.parsing import UnreadableReply
from agents.protocol import Bench
from agents.worldcoder import writing
from agents.worldcoder.sampling import Key
from agents.worldcoder.scoring import PATH, Score, explanation, finds_plan, score
from agents.worldcoder.settings import WorldcoderSettings
from ocm.types import Message, Verdict, VerificationRound


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program and how it fares on the sample."""

    program: str
    score: Score


@dataclass(slots=True)
class _Arm:
    """Something that a call can be spent on, with the parameters of its Beta distribution."""

    refined: Candidate | None
    """None: a program from nothing."""
    successes: float
    failures: float


@dataclass(slots=True)
class Search:
    """One episode's search; holds what stays the same, and records every candidate."""

    bench: Bench
    settings: WorldcoderSettings
    episodes: Sequence[Played]
    sample: tuple[Key, ...]
    chance: Random
    rounds: list[VerificationRound] = field(default_factory=list)

    async def explain(self, current: Candidate | None) -> Candidate | None:
        """The best program after at most ``calls_per_episode`` calls; stops at one that explains all.

        The current one stays unless another scores higher. Of equal others the shorter one counts.
        """
        arms = [_Arm(None, 1.0, 1.0), *([self._arm(current)] if current else [])]
        best, seen = current, {current.program if current else ""}
        for _ in range(self.settings.calls_per_episode):
            arm = max(arms, key=lambda arm: self.chance.betavariate(arm.successes, arm.failures))
            found = await self._spend(arm)
            best = _better(best, found, current)
            if found and found.score.perfect:
                break
            arm.failures += 1
            if found and found.score.explained and found.program not in seen:
                arms.append(self._arm(found))
                seen.add(found.program)
        return best

    async def hope(self, candidate: Candidate, played: Played) -> Candidate:
        """Refine until the program knows a plan for the task, at most ``plan_calls`` times.

        A refinement counts that explains as much as the program before and knows one, or explains more.
        """
        for _ in range(self.settings.plan_calls):
            if await self._is_hopeful(candidate, played):
                break
            question = writing.optimism(candidate.program, played)
            found = await self._ask("optimism", question, candidate.program)
            gained = found.score.value - candidate.score.value if found else -1.0
            if found and (gained > 0 or (gained == 0 and await self._is_hopeful(found, played))):
                candidate = found
        return candidate

    async def _is_hopeful(self, candidate: Candidate, played: Played) -> bool:
        return await finds_plan(self.bench, candidate.program, played, self.settings.plan_depth)

    def _arm(self, candidate: Candidate) -> _Arm:
        value = candidate.score.value
        return _Arm(candidate, 1 + self.settings.c * value, 1 + self.settings.c * (1 - value))

    async def _spend(self, arm: _Arm) -> Candidate | None:
        if arm.refined is None:
            keys = self._drawn(self.sample, self.settings.n_init)
            return await self._ask("init", writing.from_nothing(self.episodes, keys), "")
        program, scored = arm.refined.program, arm.refined.score
        explained = self._drawn(scored.explained, self.settings.n_correct)
        wrong = self._drawn(scored.wrong, self.settings.n_wrong)
        told = [(key, scored.problem or await self._predicted(program, key)) for key in wrong]
        question = writing.refinement(program, self.episodes, explained, told)
        return await self._ask("refine", question, program)

    def _drawn(self, keys: Sequence[Key], count: int) -> list[Key]:
        return sorted(self.chance.sample(list(keys), min(count, len(keys))))

    async def _predicted(self, program: str, key: Key) -> str:
        played = next(one for one in self.episodes if one.number == key.episode)
        return await explanation(self.bench, program, played, key.step, self.settings.f1)

    async def _ask(self, purpose: str, messages: Sequence[Message], before: str) -> Candidate | None:
        """One call: its program with its score, or None where the reply holds none."""
        reply = await self.bench.complete(purpose, messages, temperature=self.settings.temperature)
        try:
            program = writing.program_in(reply, before, self.settings.program_chars)
        except UnreadableReply as problem:
            self._note(Verdict(PATH, False, "syntax", f"{purpose}: {problem}"))
            return None
        scored = await score(self.bench, program, self.episodes, self.sample, self.settings.f1)
        self._note(_verdict(purpose, scored))
        return Candidate(program, scored)

    def _note(self, verdict: Verdict) -> None:
        self.rounds.append(VerificationRound(len(self.rounds), (verdict,)))


def _verdict(purpose: str, scored: Score) -> Verdict:
    """A score as it is recorded. ``ok`` says that the program could be executed, not that it is right."""
    report = f"{purpose}: explains {len(scored.explained)} of {len(scored.letters)}, score {scored.value:.3f}"
    if scored.problem:
        return Verdict(PATH, False, "exception", f"{report}\n{scored.problem}")
    return Verdict(PATH, True, "ok", report)


def _better(best: Candidate | None, found: Candidate | None, current: Candidate | None) -> Candidate | None:
    if found is None or not found.score.explained:
        return best
    if best is None or found.score.value > best.score.value:
        return found
    is_shorter = best is not current and len(found.program) < len(best.program)
    return found if is_shorter and found.score.value == best.score.value else best
