"""ExpeL (arXiv 2308.10144; LeapLabTHU/ExpeL), online.

Taken over: a list of insights with votes, which the model changes by AGREE, REMOVE, EDIT and ADD after it
has compared a failure with a success, or looked at several successes together; the repairs of conflicting
operations; and an acting prompt with the insights and with past successes of similar tasks as examples.
Changed for the online one-pass setting: no task is tried twice, so the two episodes that are compared are
of *similar* tasks; at most one question per episode, as soon as its episodes are there (the original asks
when all training is over); chunks of four successes; no demonstrations and no grouping by task family;
the same model acts and extracts; tasks are compared by BM25, not by sentence embeddings; an agreement or
removal in other words counts by its number; a reply without operations is asked for once more.
Similarity is a BM25 score divided by the goal's score with itself, so the threshold is 0.2 in place of a
cosine of 0.5; a success longer than 3,000 tokens is no example, and the memory text ends at 6,000.

The memory is ``insights.md`` (:mod:`agents.expel.insights`) and ``experience/``
(:mod:`agents.expel.experience`). Bounds: ``max_rules`` and five more insights, of which the least important
go first; ``max_experience`` episodes, of which the oldest goes first. A failure leaves the pool when it was
compared. After an unreadable answer the insights stay, and so do the episodes that were to teach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agents.acting import take_turn
from agents.expel import insights as voting
from agents.expel.experience import (
    Past,
    changes,
    counterpart,
    read_pool,
    record,
    similar_successes,
    unseen_successes,
)
from agents.expel.insights import PATH, Edited, Insight, numbered
from agents.expel.lessons import PROMPTS, operations
from agents.expel.settings import ExpelSettings
from agents.parsing import UnreadableReply
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from knowledge_store.index import estimate_tokens
from ocm.types import Change, Files, MemoryUpdate, Trajectory, UpdateOutcome


class ExpelAgent:
    """Acts with insights and similar successes in view, and votes on insights after an episode."""

    def __init__(self, settings: ExpelSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        return await take_turn(view, bench, memory_text(view.observation.goal, view.memory, self.settings))

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Record the episode, and ask what it and its like teach, where there are any."""
        settings, pool = self.settings, read_pool(memory)
        past, text = record(trajectory, pool, settings.trajectory_chars)
        insights = voting.read(memory.get(PATH, ""))
        shown = to_learn_from(past, pool, settings)
        if not shown:
            delta = self._delta(memory, (*pool, past), past, text, insights)
            return MemoryUpdate(
                UpdateOutcome.COMMITTED, delta, reason="recorded; nothing to compare it with yet"
            )
        texts = {**memory, past.path: text}
        try:
            wanted = await bench.stage("update", lambda: operations(shown, texts, insights, settings, bench))
        except UnreadableReply as problem:
            delta = self._delta(memory, (*pool, past), past, text, insights)
            return MemoryUpdate(UpdateOutcome.COMMITTED, delta, reason=f"recorded; no operations: {problem}")
        edited = voting.edit(insights, wanted, settings.max_rules)
        kept = tuple(after_lesson((*pool, past), shown))
        delta = self._delta(memory, kept, past, text, edited.insights)
        return MemoryUpdate(
            UpdateOutcome.COMMITTED, delta, "\n".join(edited.account), _unchanged(insights, edited)
        )

    def _delta(
        self, memory: Files, pool: Sequence[Past], past: Past, text: str, insights: Sequence[Insight]
    ) -> tuple[Change, ...]:
        file = voting.written(insights)
        changed = (Change(PATH, file),) if file != memory.get(PATH, "") else ()
        return (*changed, *changes(memory, pool[-self.settings.max_experience :], past, text))


def _unchanged(insights: Sequence[Insight], edited: Edited) -> str:
    return "the insights stay as they are" if tuple(insights) == edited.insights else ""


def to_learn_from(past: Past, pool: Sequence[Past], settings: ExpelSettings) -> tuple[Past, ...]:
    """A failure and a similar success; else, after a success, a chunk of new ones; else nothing."""
    other = counterpart(past, pool, settings.similarity)
    if other is not None:
        return (other, past) if past.success else (past, other)
    return unseen_successes(past, pool, settings.success_chunk) if past.success else ()


def after_lesson(pool: Sequence[Past], shown: Sequence[Past]) -> Iterator[Past]:
    """The pool without the failure that was compared, or with a chunk that is no longer new."""
    is_chunk = shown[0].success
    for one in pool:
        if one not in shown:
            yield one
        elif one.success:
            yield replace(one, is_new=False) if is_chunk else one


def memory_text(goal: str, memory: Files, settings: ExpelSettings) -> str:
    """The insights, then past successes of similar tasks, within ``memory_tokens``; or nothing."""
    text, room = _insights_text(voting.read(memory.get(PATH, "")), settings), settings.memory_tokens
    found = similar_successes(goal, memory, settings.similar_successes * settings.candidates)
    fitting = (one for one in found if estimate_tokens(memory[one.path]) <= settings.example_tokens)
    examples: list[str] = []
    for one in fitting:
        example = fill(PROMPTS, "example", goal=one.goal, episode=memory[one.path])
        told = fill(PROMPTS, "memory_examples", examples="\n\n".join((*examples, example)))
        if len(examples) == settings.similar_successes or estimate_tokens(text + told) > room:
            break
        examples.append(example)
    shown = fill(PROMPTS, "memory_examples", examples="\n\n".join(examples)) if examples else ""
    return text + shown


def _insights_text(insights: Sequence[Insight], settings: ExpelSettings) -> str:
    """As many of the most important insights as there is room for."""
    for count in range(min(len(insights), settings.max_rules), 0, -1):
        text = fill(PROMPTS, "memory_insights", insights=numbered(insights[:count]))
        if estimate_tokens(text) <= settings.memory_tokens:
            return text
    return ""
