"""WorldCoder (arXiv 2402.12275; haotang1995/WorldCoder): a world model as a program, fitted by REx.

Taken over: all transitions go into a replay buffer; a program predicts them, with one reward function for
all tasks; REx refines programs on counter-examples (3 explained transitions, 1 unexplained with what was
predicted; 7 random ones for a program from nothing), by Thompson sampling with C = 5, under a budget of
calls; after consistency comes optimism: the program must know a plan that earns a reward in the task, or
is refined to know one. The program decides what is done: proposals are tried out in it, and it is not in
the acting prompt.

Changed for the online one-pass setting, more than for any other method:

- Text, and much of the state hidden: instead of exact equality of an object-centric state that the
  environment supplies, a program is scored on what can be observed. It keeps a belief of its own
  (``update_belief``; a plain one is supplied). A transition is explained when validity, the reward's sign
  and the end agree, and the observation is left open or agrees with token F1 of 0.8; no prediction at all
  counts half. h is the mean over at most 200 transitions, the current program's failures first.
- Instead of planning over all actions, the backbone proposes up to 5 plans of up to 5 actions in one call;
  the highest predicted return wins, then the longest valid beginning, then the backbone's order, and the
  first action is sent. Without a program, or where it foresees no valid action, or where it or the reply
  fails, a plain turn is taken instead of a random action. No random actions at all.
- Learning at the end of an episode only: 8 calls at most, none while the program explains all that the
  episode showed. A new program replaces the old one only where it scores higher on the same sample.
- Optimism is asked of the episode just played and its own actions only (they were seen to be possible
  there, or not), when the search of programs is over, with 2 calls at most.
- Tokens are not biased against "unchanged" and the like: not every server can.

Memory: ``world_model.py``, at most ``program_chars`` characters; ``transitions/NUMBER.json``, one file for
each episode's steps, at most ``buffer_cap`` steps together; the oldest episode goes first, as a whole. What
was seen is kept also where no reply gave a program: only the program then stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agents import buffer
from agents.acting import take_turn
from agents.buffer import Played
from agents.parsing import UnreadableReply
from agents.protocol import Bench, Decision, View
from agents.worldcoder import proposals, sampling
from agents.worldcoder.sampling import Key
from agents.worldcoder.scoring import PATH, rollouts, score
from agents.worldcoder.search import Candidate, Search
from agents.worldcoder.settings import WorldcoderSettings
from knowledge_store.memory import diff
from ocm.identity import generator
from ocm.types import Files, MemoryUpdate, TaskRef, Trajectory, UpdateOutcome, VerificationRound


class WorldcoderAgent:
    """Chooses among the backbone's plans by a program, and fits the program to what was seen."""

    def __init__(self, settings: WorldcoderSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        """One step: plans, looked ahead. Where that fails, a second call takes a plain turn."""
        program = view.memory.get(PATH, "")
        chosen = await self._chosen(view, program, bench) if program and not view.correcting else None
        return chosen or await take_turn(view, bench)

    async def _chosen(self, view: View, program: str, bench: Bench) -> Decision | None:
        settings = self.settings
        reply = await bench.complete("propose", proposals.question(view, settings), proposals.schema())
        try:
            proposal = proposals.read(reply, settings)
        except UnreadableReply:
            return None
        chars = sampling.room(view.step_limit, settings.observation_chars)
        foreseen = await rollouts(bench, program, view.observation, view.exchanges, proposal.plans, chars)
        best = proposals.best(foreseen)
        return None if best is None else proposals.decision(reply, proposal, best, foreseen[best])

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Keep what was seen, and fit the program to it. A failure leaves the program as it was."""
        known = buffer.read(memory)
        chars = sampling.room(len(trajectory.steps), self.settings.observation_chars)
        played = buffer.finished(trajectory, buffer.next_number(known), chars)
        if not played.steps:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="no action was sent")
        episodes = buffer.bounded([*known, played], self.settings.buffer_cap)
        program = memory.get(PATH, "")
        fitted = await bench.stage("update", lambda: self._fitted(program, episodes, trajectory.task, bench))
        program = fitted.best.program if fitted.best else program
        after = {**buffer.written(episodes), **({PATH: program} if program else {})}
        delta = diff(memory, after)
        return MemoryUpdate(UpdateOutcome.COMMITTED, delta, fitted.told(), fitted.reason, fitted.rounds)

    async def _fitted(self, program: str, episodes: Sequence[Played], task: TaskRef, bench: Bench) -> _Fitted:
        settings, last = self.settings, episodes[-1]
        everything = [Key(played.number, index) for played in episodes for index in range(len(played.steps))]
        if len(everything) < settings.min_buffer:
            return _Fitted(f"{len(everything)} transitions of {settings.min_buffer} for a first program")
        before = await score(bench, program, episodes, everything, settings.f1)
        sample = sampling.sample(episodes, frozenset(before.wrong), settings.eval_cap)
        chance = generator("worldcoder", task.environment, task.id, len(everything), last.number)
        search = Search(bench, settings, episodes, sample, chance)
        current = Candidate(program, before.on(sample)) if program else None
        found = current
        if not program or any(key.episode == last.number for key in before.wrong):
            found = await search.explain(current)
        if found:
            found = await search.hope(found, last)
        reason = "no reply gave a better program" if search.rounds else "the program explains the episode"
        is_new = found is not None and found.program != program
        return _Fitted("" if is_new else reason, current, found, tuple(search.rounds))


@dataclass(frozen=True, slots=True)
class _Fitted:
    """What an episode's learning came to."""

    reason: str
    """Why the program is the old one; empty where it is new."""
    current: Candidate | None = None
    best: Candidate | None = None
    """Scored on the same sample as ``current``."""
    rounds: tuple[VerificationRound, ...] = ()

    def told(self) -> str:
        """The scores before and after, as they are recorded."""
        if self.best is None:
            return ""
        before = round(self.current.score.value, 4) if self.current else None
        after = self.best.score
        scores = {"sample": len(after.letters), "before": before, "after": round(after.value, 4)}
        return json.dumps(scores)
