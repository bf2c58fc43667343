"""AWM, Agent Workflow Memory (arXiv 2409.07429; zorazrw/agent-workflow-memory), online.

Taken over: after a success the model extracts reusable routines from the episode, with placeholders for
what changes from task to task, and all of them stand in the acting prompt. Failures teach nothing, and
nothing checks a workflow but the success that it comes from. Changed for the online one-pass setting: the
success is the environment's, not a judge's; workflows are induced from the new episode alone, with the
names of the known ones in view, as the paper has it (the repository writes all anew from all successes);
no worked example; a workflow has at most 20 steps and 4,000 characters; and a call that merges the
workflows when there are too many.

The memory is one file, ``workflows.md``, in the order in which workflows were first written. Bound:
``max_workflows`` and ``memory_tokens``. Beyond it they are merged into at most ``consolidate_to``; where
that fails, the oldest go.
"""

from __future__ import annotations

from agents.acting import take_turn
from agents.awm.inducing import PROMPTS, consolidate, induce, within_bounds
from agents.awm.settings import AwmSettings
from agents.awm.workflows import PATH, merged, read, written
from agents.parsing import UnreadableReply
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.rendering import without_invalid_steps
from ocm.types import Change, Files, MemoryUpdate, Trajectory, UpdateOutcome


class AwmAgent:
    """Acts with all workflows in view, and adds some after a success."""

    def __init__(self, settings: AwmSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        workflows = view.memory.get(PATH, "").strip()
        return await take_turn(view, bench, fill(PROMPTS, "memory", workflows=workflows) if workflows else "")

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Induce workflows from a success; merge them where they have become too many.

        An unreadable induction leaves the memory as it was; an unreadable merge costs the oldest.
        """
        settings = self.settings
        if not trajectory.success:
            return _unchanged("only successes are learned from")
        if len(without_invalid_steps(trajectory).steps) < settings.min_steps:
            return _unchanged(f"the episode has fewer than {settings.min_steps} valid steps")
        known = read(memory.get(PATH, ""))
        try:
            new = await bench.stage("update", lambda: induce(trajectory, known, settings, bench))
        except UnreadableReply as problem:
            return _unchanged(f"no workflow: {problem}")
        workflows = merged(known, new)
        if workflows == known:
            return _unchanged("the episode shows no new workflow")
        if within_bounds(workflows, settings) != workflows:
            workflows = await bench.stage("update", lambda: consolidate(workflows, settings, bench))
        return MemoryUpdate(UpdateOutcome.COMMITTED, (Change(PATH, written(workflows)),))


def _unchanged(reason: str) -> MemoryUpdate:
    return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=reason)
