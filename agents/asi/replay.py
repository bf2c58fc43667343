"""Verification: the rewritten episode is carried out on a new instance of the task, without the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.asi.library import skill_path
from agents.protocol import Bench, Rehearsal
from agents.skills.program import Call, Script, ScriptProgram
from agents.skills.source import Function, NoCall, read_call
from ocm.types import Exchange, Step, Validity, Verdict

FAILED = "replay"
"""Kind of the verdict on skills whose episode did not come out again."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the new skills are not kept."""

    reason: str
    skill: str = ""
    """The skill that is at fault; empty where it is the episode as a whole."""


async def verify(
    lines: Sequence[str], new: Sequence[Function], known: Mapping[str, Function], steps: int, bench: Bench
) -> tuple[Verdict, ...]:
    """One verdict per new skill, all good or all bad.

    All are good where the lines lead to success again within ``steps`` steps, each new skill is called, and
    its calls neither fail, nor act invalidly, nor leave the observation as it was.

    Raises:
        EnvironmentFault: as the host does.
    """
    async with bench.rehearse() as rehearsal:
        replay = _Replay({**known, **{skill.name: skill for skill in new}}, steps, rehearsal, bench)
        failure = await replay.play(lines, frozenset(skill.name for skill in new))
    if failure is None:
        return tuple(Verdict(skill_path(skill.name), True, "ok") for skill in new)
    return tuple(_failed(skill, failure) for skill in new)


def _failed(skill: Function, failure: Failure) -> Verdict:
    kind = "exception" if failure.skill == skill.name else FAILED
    return Verdict(skill_path(skill.name), False, kind, failure.reason)


class _Replay:
    """One pass through the lines; holds where it stands."""

    def __init__(
        self, skills: Mapping[str, Function], steps: int, rehearsal: Rehearsal, bench: Bench
    ) -> None:
        self._skills = skills
        self._steps_left = steps
        self._rehearsal = rehearsal
        self._bench = bench
        self._observation = ""
        self._last: Step | None = None

    async def play(self, lines: Sequence[str], new: frozenset[str]) -> Failure | None:
        """Carry the lines out; None where they hold."""
        self._observation = (await self._rehearsal.reset()).text
        missing = set(new)
        for line in lines:
            if self._over:
                break
            try:
                call = read_call(line)
            except NoCall as problem:
                return Failure(f"{line[:200]}: {problem}")
            if call is None:
                await self._act(line)
                continue
            failure = await self._call(call, call.name in new)
            if failure:
                return failure
            missing.discard(call.name)
        if missing:
            return Failure(f"the episode ended before {', '.join(sorted(missing))} was called")
        if self._last is None or not self._last.success:
            return Failure("the rewritten episode does not reach the goal again")
        return None

    async def _call(self, call: Call, is_new: bool) -> Failure | None:
        skill = self._skills.get(call.name)
        if skill is None:
            return Failure(f"the rewritten episode calls {call.name}, which is no skill")
        before = self._observation
        program = ScriptProgram(Script(skill_path(call.name), skill.source, call, before), self._bench)
        taken: list[Exchange] = []
        while not self._over and (action := await program.next(taken)) is not None:
            step = await self._act(action)
            taken.append(Exchange(action, step.observation))
            if is_new and step.validity is not Validity.VALID:
                return Failure(f"{call.name}: the environment did not carry out {action}", call.name)
        if program.problem:
            return Failure(program.problem, call.name)
        if is_new and (not taken or self._observation == before):
            return Failure(f"{call.name}: it changes nothing", call.name)
        return None

    async def _act(self, action: str) -> Step:
        step = self._last = await self._rehearsal.step(action)
        self._observation = step.observation
        self._steps_left -= 1
        return step

    @property
    def _over(self) -> bool:
        return self._steps_left <= 0 or (self._last is not None and self._last.done)
