"""OCM on one page: act with signatures in view, then reflect, update, verify.

*Object-Centric environment Modeling* (arXiv 2607.02846), sections 3.1 to 3.4.

Taken over: executable object knowledge K_o and procedure knowledge K_p that uses it; signatures and an
index in view, source on demand by ``Inspect[...]``; after every episode a learning plan, then code, then
the execution of every procedure against the updated K_o; a commit of all of it or of nothing. The method
is online as published. What the paper leaves open is decided here: the prompts are our own, an inspect
costs no environment step, failed procedures go back to the model at most ``max_repairs`` times, and what
may be imported is fixed (:mod:`knowledge_store.rules`).

Memory: ``objects.py``, whose definitions are merged by name, and ``procedures/NAME.py``. Bound:
``memory_chars`` and ``max_procedures``, past which an update is refused; nothing is evicted, the model
deletes. ``level0_tokens`` bounds what stands in the acting prompt: the procedures used least recently are
shortened to their names.
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.acting import take_turn
from agents.ocm.plan import LearningPlan, known_files
from agents.ocm.reflect import PROMPTS, reflect
from agents.ocm.settings import OcmSettings
from agents.ocm.update import update
from agents.parsing import UnreadableReply
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from ocm.types import Files, Inspection, MemoryUpdate, Trajectory, TurnKind, UpdateOutcome

ALL_SOURCE = 10**9
"""Characters that no memory reaches."""


class OcmAgent:
    """Plays with an executable object model and grows it after each episode."""

    def __init__(self, settings: OcmSettings) -> None:
        self.settings = settings
        self._told: tuple[Files, Mapping[str, int], str] | None = None

    async def act(self, view: View, bench: Bench) -> Decision:
        decision = await take_turn(view, bench, self._memory_text(view), self._no_inspect(view))
        if decision.kind is not TurnKind.INSPECT:
            return decision
        return self._inspected(decision, view)

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Reflect, update, verify. Any failure leaves the memory as it was, and says why."""
        memory = self._kept(memory)
        try:
            plan = await self._plan(trajectory, memory, bench)
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"unreadable learning plan: {problem}")
        if self.settings.reflection and plan.empty:
            reason = "the learning plan is empty"
            return MemoryUpdate(UpdateOutcome.UNCHANGED, plan=plan.to_json(), reason=reason)
        return await update(plan, trajectory, memory, self.settings, bench)

    async def _plan(self, trajectory: Trajectory, memory: Files, bench: Bench) -> LearningPlan:
        if not self.settings.reflection:
            return LearningPlan(inspect=_inspected_names(trajectory))
        return await bench.stage("reflect", lambda: reflect(trajectory, memory, self.settings, bench))

    def _memory_text(self, view: View) -> str:
        """What :meth:`_tell` says, once per episode: all its turns see the same memory object."""
        told = self._told
        if told is None or told[0] is not view.memory or told[1] is not view.last_used:
            told = self._told = (view.memory, view.last_used, self._tell(view))
        return told[2]

    def _tell(self, view: View) -> str:
        """Level 0 of progressive disclosure, or all source where it is off (section 3.4)."""
        memory = self._kept(view.memory)
        if self.settings.disclosure == "full":
            how = fill(PROMPTS, "memory_how_full")
            knowledge = resolve(memory, sorted(memory), ALL_SOURCE).text if memory else ""
        else:
            how = fill(
                PROMPTS,
                "memory_how_progressive",
                per_step=self.settings.inspects_per_step,
                per_episode=self.settings.inspects_per_episode,
            )
            knowledge = level0(memory, self.settings.level0_tokens, view.last_used).text
        return fill(PROMPTS, "memory", how=how, knowledge=knowledge) if knowledge else ""

    def _no_inspect(self, view: View) -> str:
        """Why an inspect request cannot be answered now; empty when it can."""
        settings = self.settings
        if not self._kept(view.memory):
            return "there is nothing to inspect yet"
        if settings.disclosure == "full":
            return "all source is already shown"
        if len(view.inspections) >= settings.inspects_per_episode:
            return f"all {settings.inspects_per_episode} inspects of this episode are used up; act now"
        for_step = sum(inspection.step == view.steps_taken + 1 for inspection in view.inspections)
        if for_step >= settings.inspects_per_step:
            return f"{settings.inspects_per_step} inspects before one action are the most; act now"
        return ""

    def _inspected(self, decision: Decision, view: View) -> Decision:
        """Level 1: answer the request with source; no model call and no environment step."""
        names = tuple(decision.content.split(", "))
        resolved = resolve(self._kept(view.memory), names, self.settings.inspect_chars)
        inspection = Inspection(
            view.steps_taken + 1, names, tuple(resolved.found), tuple(resolved.missing), resolved.text
        )
        return Decision(
            decision.kind, decision.thought, decision.content, decision.reply, decision.said, inspection
        )

    def _kept(self, memory: Files) -> Files:
        return known_files(memory, objects=self.settings.objects, procedures=self.settings.procedures)


def _inspected_names(trajectory: Trajectory) -> tuple[str, ...]:
    """Without a plan, the update sees the source that the agent itself asked for while acting."""
    return tuple(dict.fromkeys(name for seen in trajectory.inspections for name in seen.found))
