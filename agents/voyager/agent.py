"""Voyager (arXiv 2305.16291; MineDojo/Voyager): programs that are kept and used again, on one page.

Taken over: the agent acts by writing programs, round by round, with what the last one did and saw, its
error and a critic's word in view. A program that reaches the goal is kept whole under the name of its main
function, with a description from one call; one of the same name replaces it, whatever still calls it. The
kept programs whose descriptions fit best stand in the acting prompt, and all of them can be called.

Changed for the online one-pass setting:

- No curriculum: the task is the episode's. A program is kept only where the environment itself reports
  success; the critic alone is not enough.
- Every action of a program is one environment step. Programs go on from where the last one ended, until the
  episode ends; the original stops after four.
- A program that cannot be read is answered with what is wrong with it; the original loses that round.
- A program is looked up by the goal alone, with BM25 in place of embeddings, so that the prompt stays the
  same within an episode. A critique is shown once, in the round that follows, as in the original.
- The description call also sees the episode.
- An unreadable critique is asked for once more, not five times.

Memory: ``skills/<name>.py``, one program each without its call, and ``skills.json``, name -> description, in
the order of their last use in a success. Bound: ``max_skills`` programs of at most ``program_chars``; the one
that was not used for longest goes first, of those that no other one calls.
"""

from __future__ import annotations

from dataclasses import replace

from agents.acting import dialogue, said
from agents.asking import ask
from agents.parsing import CUT_OFF, ParsedTurn, UnreadableReply, read_prose
from agents.prompts import fill
from agents.protocol import Bench, Decision, View
from agents.rendering import outcome, render
from agents.skills.program import Script, ScriptProgram
from agents.voyager.critic import PROMPTS, critique
from agents.voyager.library import (
    descriptions_in,
    fitting,
    name_problem,
    needed,
    skill_path,
    stored,
    used,
)
from agents.voyager.settings import VoyagerSettings
from agents.voyager.writing import Written, read_program, take_apart
from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.memory import diff
from ocm.types import Files, MemoryUpdate, Message, Reply, Trajectory, TurnKind, UpdateOutcome

PROGRAM = "program.py"
"""What reports call a program that is not stored."""
DESCRIPTION_CHARS = 800


class VoyagerAgent:
    """Acts by programs and keeps those that reach the goal."""

    def __init__(self, settings: VoyagerSettings) -> None:
        self.settings = settings
        self._told: tuple[Files, str, str] | None = None

    async def act(self, view: View, bench: Bench) -> Decision:
        messages = self._messages(view, await critique(view, bench) if self.settings.critic else "")
        reply = await bench.complete("act_correction" if view.correcting else "act", messages)
        try:
            thought, written = read_program(reply.text, reply.finish_reason)
        except UnreadableReply as problem:
            return _malformed(reply, "", str(problem))
        return await self._decision(reply, thought, written, view, bench)

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        """Describe and store the program that reached the goal. Any failure leaves the memory as it was."""
        last = trajectory.turns[-1]
        if not trajectory.success or last.kind is not TurnKind.PROGRAM:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="only programs that reach the goal are kept")
        try:
            after = await self._after(trajectory, take_apart(last.content), memory, bench)
        except UnreadableReply as problem:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason=f"the program is not kept: {problem}")
        delta = diff(memory, after)
        if not delta:
            return MemoryUpdate(UpdateOutcome.UNCHANGED, reason="the program only calls what is stored")
        return MemoryUpdate(UpdateOutcome.COMMITTED, delta)

    # --- acting ----------------------------------------------------------------------------------

    def _messages(self, view: View, criticism: str) -> tuple[Message, ...]:
        reply_form = fill(
            PROMPTS, "reply", max_acts=self.settings.max_acts, modules=", ".join(sorted(ALLOWED_MODULES))
        )
        *before, last = dialogue(view, self._memory_text(view), reply_form)
        if view.correcting:
            last = Message("user", fill(PROMPTS, "correction", reason=view.turns[-1].content))
        elif criticism:
            last = replace(last, content=f"{last.content}\n\nCritique: {criticism}")
        return (*before, last)

    def _memory_text(self, view: View) -> str:
        """The programs that fit the goal, once per episode: all its turns see the same memory object."""
        goal = view.observation.goal
        if self._told is None or self._told[0] is not view.memory or self._told[1] != goal:
            self._told = (view.memory, goal, self._tell(view.memory, goal))
        return self._told[2]

    def _tell(self, memory: Files, goal: str) -> str:
        described = descriptions_in(memory)
        shown = [
            f"# {name}: {described[name]}\n{memory[skill_path(name)].strip()}"
            for name in fitting(memory, goal, self.settings.top_k)
        ]
        return fill(PROMPTS, "memory", programs="\n\n\n".join(shown)) if shown else ""

    async def _decision(
        self, reply: Reply, thought: str, written: Written, view: View, bench: Bench
    ) -> Decision:
        before = view.exchanges[-1].observation if view.exchanges else view.observation.text
        library = needed(written.code, view.memory)
        script = Script(PROGRAM, written.definitions, written.call, before, library, self.settings.max_acts)
        program = ScriptProgram(script, bench)
        if await program.next(()) is None:
            return _malformed(reply, thought, f"the program did not come to an action: {program.ending}")
        kept = f"{thought}\n\n```python\n{written.code}```".strip()
        return Decision(TurnKind.PROGRAM, thought, written.code, reply.text, kept, program=program)

    # --- learning --------------------------------------------------------------------------------

    async def _after(
        self, trajectory: Trajectory, written: Written, memory: Files, bench: Bench
    ) -> dict[str, str]:
        """The memory with the program, unless it is but a call of a stored one.

        Raises:
            UnreadableReply: the program cannot be kept, or its description cannot be read.
        """
        memory = used(memory, needed(written.code, memory))
        if not written.defines_main:
            return dict(memory)
        name, source = written.call.name, written.definitions
        if problem := name_problem(name) or self._size_problem(source):
            raise UnreadableReply(problem)
        text = await bench.stage("update", lambda: self._described(trajectory, written, bench))
        return stored(memory, name, source, text, self.settings.max_skills)

    def _size_problem(self, source: str) -> str:
        most = self.settings.program_chars
        too_much = len(source) > most or "```" in source
        return f"it is longer than {most} characters, or holds a fence" if too_much else ""

    async def _described(self, trajectory: Trajectory, written: Written, bench: Bench) -> str:
        """A line on what the program is good for."""
        user = fill(
            PROMPTS,
            "describe_user",
            program=written.code.strip(),
            goal=trajectory.goal,
            outcome=outcome(trajectory),
            trajectory=render(trajectory, self.settings.trajectory_chars),
        )
        messages = (Message("system", fill(PROMPTS, "describe_system")), Message("user", user))
        text, _ = await ask(bench, "describe", messages, _read_description, temperature=0.0)
        return text


def _read_description(reply: Reply) -> str:
    if reply.finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; write one sentence")
    text = " ".join(read_prose(reply.text, reply.finish_reason).replace("```", "").split())
    if not text:
        raise UnreadableReply("the reply is empty")
    return text[:DESCRIPTION_CHARS]


def _malformed(reply: Reply, thought: str, reason: str) -> Decision:
    turn = ParsedTurn(TurnKind.MALFORMED, thought, reason)
    return Decision(turn.kind, thought, reason, reply.text, said(turn, reply.text))
