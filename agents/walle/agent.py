"""WALL-E (arXiv 2410.07484, version 1; elated-sawyer/WALL-E): code rules hold back actions that would fail.

Taken over: the agent's action is imagined before it is sent, and code rules alone decide whether it would
succeed; a vetoed action and the rule's feedback go back to the agent. A model predicts the outcome of
real actions, and what it got wrong is mined for rules: conditions, in words and then as code, under which
a verb fails; they are asked about that verb only. Rules with a false alarm go, and greedy maximum coverage
chooses among the rest. Rules are not in the acting prompt.

Changed for the online one-pass setting: rules are learned on the stream that is played, after every
episode. The state is text (goal, observations, actions) instead of hand-written parsers' JSON. Predictions
are one call for up to 40 actions, code is one call for all new rules, and rules call no model. An action
is held back at most 3 times per step and then sent. An action counts as failed when the environment calls
it invalid; a reply without an action is neither checked nor learned from. Failures that a rule already
holds back are not mined again. A round mines at most 3 verbs and 4 rules for each. A rule that the miner
calls conflicting leaves the pool only: one in use goes by the data alone. Knowledge graph and scene graph
(version 2) are left out.

Memory: ``transitions/NUMBER.json``, an episode's steps with outcome and prediction, at most
``buffer_cap`` with an outcome (the oldest successes go first, then the oldest failures);
``rules/NAME.py``, at most ``max_rules`` that hold actions back; ``pool/NAME.py``, at most ``max_pool``
without a false alarm that add no coverage (the oldest go first); ``rules.json``, all of them in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.acting import take_turn
from agents.parsing import UnreadableReply
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.walle import rules, transitions
from agents.walle.judging import Objection, objections
from agents.walle.mining import PROMPTS
from agents.walle.round import learned
from agents.walle.settings import WalleSettings
from knowledge_store.memory import diff
from ocm.types import Files, MemoryUpdate, Trajectory, TurnKind, UpdateOutcome


class WalleAgent:
    """Proposes an action and lets the rules hold it back."""

    def __init__(self, settings: WalleSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        decision = await take_turn(view, bench)
        if decision.kind is not TurnKind.ACTION or self._has_insisted(view):
            return decision
        episode = transitions.so_far(view.observation, view.exchanges)
        active = rules.read(view.memory).active
        found = await objections(bench, active, episode, transitions.action_text(decision.content))
        if not found:
            return decision
        return replace(decision, kind=TurnKind.VETOED, veto=_veto(found))

    def _has_insisted(self, view: View) -> bool:
        vetoed = sum(
            turn.kind is TurnKind.VETOED and turn.step == view.steps_taken + 1 for turn in view.turns
        )
        return vetoed >= self.settings.max_repropose

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Keep what was seen, learn rules from it, test all rules anew.

        A reply that stays unreadable leaves the whole memory as it was.
        """
        known = transitions.read(memory)
        played = transitions.finished(trajectory, known[-1].number + 1 if known else 1)
        if not list(played.transitions()):
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="no action was sent")
        try:
            round_ = await learned(
                rules.read(memory), [*known, played], trajectory.task, self.settings, bench
            )
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"unreadable reply: {problem}")
        after = {**transitions.written(round_.episodes), **rules.written(round_.book)}
        return MemoryUpdate(
            UpdateOutcome.COMMITTED, diff(memory, after), plan=round_.plan, rounds=round_.rounds
        )


def _veto(found: Sequence[Objection]) -> str:
    lines = [f"- {one.feedback} {one.suggestion}".rstrip() for one in found]
    return fill(PROMPTS, "veto", objections="\n".join(lines))
