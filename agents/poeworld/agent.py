"""PoE-World (arXiv 2505.10819; topwasu/poe-world): a world model as a product of small programmatic experts.

Taken over: experts are tiny Python functions that a model writes, each on one effect of one kind of action,
as a set of possible values, and silent elsewhere. They are written for transitions that surprise the
model so far, several explanations at a time. They are combined as a weighted product with a noise floor,
and weights between 0 and 10 are fitted by L-BFGS to all transitions with an L1 price; experts that end
without weight are deleted.

Changed for the online one-pass setting and for text: objects come from an extractor that the model writes
(from the lines of an observation where it has none), and an observation without objects leaves them as
they were. An action has four kinds of true-or-false attributes instead of numeric ones per object: whether
it succeeds, whether the reward rises, and per object whether its state or its location changes; an object
that is out of sight before or after has not changed. Experts say themselves which verbs and object types
they are about, so all of them are one product, and each attribute has a fixed prior in it: actions succeed,
and nothing else comes of them. Hence what surprises is a failure, a reward or a change. Surprises are asked
about after the episode, at most 6, one request each; the transition is shown with its changes instead of
being put into words first. There are no hidden states and no constraints. Nothing is planned: the model
proposes up to 5 actions, and the one with the highest P(success) * (1 + P(reward)) is sent, the first among
those that come close; experts with most weight also stand in the prompt. An expert that wrongly foresees
failure is corrected only when such an action is sent all the same, as where it is the only proposal.
Without experts, and where a reply has no proposals, the turn is the usual one. An episode whose
requests are all answered with nothing usable is not kept.

Memory: ``experts/NAME.py``, at most ``max_experts`` (those with least weight go first); ``weights.json``;
``extractor.py``; ``transitions/NUMBER.json``, an episode's steps with their outcome, written once: the
newest episodes with together at most ``max_transitions`` steps (the oldest episodes go first, whole).
"""

from __future__ import annotations

from agents import buffer
from agents.acting import dialogue, take_turn
from agents.parsing import UnreadableReply
from agents.poeworld import judging, model
from agents.poeworld.asked import PROMPTS
from agents.poeworld.cases import TEXT_CHARS, imagined
from agents.poeworld.learning import MALFORMED, Lesson
from agents.poeworld.model import WorldModel
from agents.poeworld.proposing import Proposals, chosen, read_proposals
from agents.poeworld.settings import PoeWorldSettings
from agents.poeworld.weighing import value
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from knowledge_store.memory import diff
from ocm.types import Files, MemoryUpdate, Trajectory, TurnKind, UpdateOutcome


class PoeWorldAgent:
    """Proposes actions and lets the experts choose."""

    def __init__(self, settings: PoeWorldSettings) -> None:
        self.settings = settings

    async def act(self, view: View, bench: Bench) -> Decision:
        """One turn; a second call is made only where the first one's reply cannot be read."""
        known = model.read(view.memory)
        text = memory_text(known, self.settings)
        if not known.experts or view.correcting:
            return await take_turn(view, bench, text)
        form = fill(PROMPTS, "propose_reply", most=self.settings.proposals)
        reply = await bench.complete("propose", dialogue(view, text, form))
        try:
            proposals = read_proposals(reply, self.settings.proposals)
        except UnreadableReply:
            return await take_turn(view, bench, text)
        action = await self._best(proposals, known, view, bench)
        said = f"{proposals.thought}\n\nAction: {action}" if proposals.thought else f"Action: {action}"
        return Decision(TurnKind.ACTION, proposals.thought, action, reply.text, said)

    async def _best(self, proposals: Proposals, known: WorldModel, view: View, bench: Bench) -> str:
        """The proposal that promises most."""
        if len(proposals.actions) == 1:
            return proposals.actions[0]
        cases = imagined(view.observation, view.exchanges, proposals.actions)
        judged = await judging.judged(bench, known.extractor, known.experts, cases)
        values = [value(variables, known.weights) for variables in judged.transitions]
        return proposals.actions[chosen(values, self.settings.margin)]

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Keep what was seen, learn experts from what surprised, weigh all experts anew.

        Where replies are malformed and nothing was taken from any, the whole memory stays as it was.
        """
        known = buffer.read(memory)
        played = buffer.finished(trajectory, buffer.next_number(known), TEXT_CHARS)
        if not played.steps:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="no action was sent")
        learned = await Lesson(model.read(memory), self.settings, bench).learn(known, played)
        if learned.malformed:
            reasons = (one.report for one in learned.verdicts if one.kind == MALFORMED)
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=next(reasons), rounds=learned.rounds)
        after = {**buffer.written(learned.episodes), **model.written(learned.model)}
        return MemoryUpdate(UpdateOutcome.COMMITTED, diff(memory, after), rounds=learned.rounds)


def memory_text(known: WorldModel, settings: PoeWorldSettings) -> str:
    """The experts with most weight as they stand in the acting prompt; empty where there are none."""
    blocks: list[str] = []
    room = settings.memory_chars
    for name in known.ranked()[: settings.shown]:
        block = f"## {name}, weight {known.weights[name]:.2f}\n```python\n{known.experts[name]}```"
        if len(block) <= room:
            blocks.append(block)
            room -= len(block)
    return fill(PROMPTS, "memory", experts="\n\n".join(blocks)) if blocks else ""
