"""What one episode teaches: eyes, experts on what surprised, new weights, and which experts go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents import buffer
from agents.buffer import Played
from agents.parsing import UnreadableReply
from agents.poeworld import asked, judging
from agents.poeworld.cases import Case, cases_of
from agents.poeworld.model import (
    CODE_CHARS,
    EXPERTS,
    EXTRACTOR,
    Unfit,
    WorldModel,
    checked,
    name_of,
    same,
)
from agents.poeworld.settings import PoeWorldSettings
from agents.poeworld.weighing import Variable, fitted, kept, likelihood
from agents.protocol import Bench
from ocm.types import Verdict, VerificationRound

OK, MALFORMED, USELESS = "ok", "malformed", "useless"
"""Kinds of verdicts."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a round leaves."""

    model: WorldModel
    episodes: Sequence[Played]
    verdicts: tuple[Verdict, ...]
    """One on each expert and extractor that a model wrote, and one on each useless reply."""
    malformed: bool
    """Whether nothing was taken, and some reply was malformed: then the memory stays as it was."""

    @property
    def rounds(self) -> tuple[VerificationRound, ...]:
        return (VerificationRound(0, self.verdicts),) if self.verdicts else ()


class Lesson:
    """One learning round under way: the model as it grows, and the verdicts on what it was offered."""

    def __init__(self, model: WorldModel, settings: PoeWorldSettings, bench: Bench) -> None:
        self.model = model
        self.verdicts: list[Verdict] = []
        self._settings = settings
        self._bench = bench

    async def learn(self, known: Sequence[Played], played: Played) -> Learned:
        """From the episodes before, and the new one."""
        before, bench = self.model, self._bench
        episodes = buffer.bounded([*known, played], self._settings.max_transitions)
        cases = [case for one in episodes for case in cases_of(one)]
        await bench.stage("reflect", lambda: self._see(played))
        await bench.stage("update", lambda: self._explain(cases_of(played)))
        malformed = self.model is before and any(one.kind == MALFORMED for one in self.verdicts)
        if not malformed:
            await bench.stage("verify", lambda: self._weigh(cases))
        return Learned(self.model, episodes, tuple(self.verdicts), malformed)

    # --- eyes

    async def _see(self, played: Played) -> None:
        """Ask for an extractor where there is none, or where it fails on what was seen."""
        texts = [played.first, *(taken.observation for taken in played.steps)]
        problem = "There is none yet."
        if self.model.extractor:
            problem = await judging.extractor_problem(self._bench, self.model.extractor, texts)
        if not problem:
            return
        try:
            code = await asked.extractor(self._bench, played.goal, texts, problem, self._settings.temperature)
            problem = await judging.extractor_problem(self._bench, code, texts)
        except (UnreadableReply, Unfit) as fault:
            problem = str(fault)
        self._note(EXTRACTOR, MALFORMED if problem else OK, problem)
        if not problem:
            self.model = replace(self.model, extractor=code)

    # --- experts

    async def _explain(self, cases: Sequence[Case]) -> None:
        """Ask for experts on the most surprising transitions, one after the other.

        What the experts on one explain surprises no more: while they are new, weights are fitted to this
        episode. Kinds that were not asked about come first.
        """
        before = self.model
        tried: set[int] = set()
        kinds: Counter[tuple[object, ...]] = Counter()
        while len(tried) < self._settings.surprises:
            model = self.model
            judged = await judging.judged(self._bench, model.extractor, model.experts, cases)
            if model is not before:
                weights = fitted(judged.transitions, model.weights, self._settings)
                model = replace(model, weights=weights)
            expected = {
                place: likelihood(variables, model.weights)
                for place, variables in enumerate(judged.transitions)
                if place not in tried
            }
            surprises = [place for place, share in expected.items() if share < self._settings.surprise]
            if not surprises:
                return
            place = min(surprises, key=lambda place: (kinds[_kind(cases[place])], expected[place], place))
            tried.add(place)
            kinds[_kind(cases[place])] += 1
            await self._ask(cases[place], judged.transitions[place], model)

    async def _ask(self, case: Case, variables: Sequence[Variable], weighed: WorldModel) -> None:
        """New experts on a transition; they are in the model then."""
        told = await judging.told(self._bench, weighed.extractor, case)
        try:
            blocks = await asked.experts(self._bench, case, told, variables, weighed, self._settings)
        except UnreadableReply as fault:
            self._note(f"{EXPERTS}{name_of(case.verb, self.model.last + 1)}.py", MALFORMED, str(fault))
            return
        for block in blocks:
            await self._try(block, case)

    async def _try(self, block: str, case: Case) -> None:
        """Take an expert into the model, unless it is known or says nothing right about the transition."""
        model, number = self.model, self.model.last + 1
        name = name_of(case.verb, number)
        path = f"{EXPERTS}{name}.py"
        try:
            code = checked(block, "expert", 2, CODE_CHARS)
        except Unfit as fault:
            return self._note(path, MALFORMED, str(fault))
        if any(same(code, other) for other in model.experts.values()):
            return self._note(path, USELESS, "it is known already")
        judged = await judging.judged(self._bench, model.extractor, {name: code}, [case])
        if judged.broken:
            return self._note(path, MALFORMED, "it raised, or did not end")
        if not any(vote.holds is one.came for one in judged.transitions[0] for vote in one.votes):
            return self._note(path, USELESS, "it foresees nothing of the transition that it is to explain")
        self._note(path, OK)
        self.model = replace(
            model,
            experts={**model.experts, name: code},
            weights={**model.weights, name: self._settings.theta_start},
            last=number,
        )
        return None

    # --- weights

    async def _weigh(self, cases: Sequence[Case]) -> None:
        """Fit all weights to all transitions, and delete what is broken or weighs nothing."""
        model = self.model
        judged = await judging.judged(self._bench, model.extractor, model.experts, cases)
        start = {name: model.weights[name] for name in model.experts if name not in judged.broken}
        sound = [_without(variables, judged.broken) for variables in judged.transitions]
        weights = kept(fitted(sound, start, self._settings), self._settings)
        self.model = replace(model, experts={name: model.experts[name] for name in weights}, weights=weights)

    def _note(self, path: str, kind: str, problem: str = "") -> None:
        self.verdicts.append(Verdict(path, kind == OK, kind, f"{path}: {problem}" if problem else ""))


def _kind(case: Case) -> tuple[object, ...]:
    return case.verb, case.success, case.reward


def _without(variables: Sequence[Variable], broken: frozenset[str]) -> tuple[Variable, ...]:
    return tuple(
        replace(one, votes=tuple(vote for vote in one.votes if vote.expert not in broken))
        for one in variables
    )
