"""Act: one episode of one task, turn by turn (the loop of the paper's Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.acting import MALFORMED_EXCERPT, correction, malformed_observation, observed
from agents.protocol import Agent, Decision, Program, View
from ocm.types import (
    EndReason,
    Exchange,
    Files,
    Inspection,
    Message,
    Observation,
    Step,
    TaskRef,
    Trajectory,
    Turn,
    TurnKind,
    Validity,
)
from tasks.bench import EpisodeBench, World


@dataclass(slots=True)
class Record:
    """What has happened so far; only :func:`act` writes it."""

    transcript: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    inspections: list[Inspection] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    correcting: bool = False

    @property
    def over(self) -> bool:
        return bool(self.steps) and self.steps[-1].done


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays the same in an episode: the task, its rules, the memory to act with."""

    task: TaskRef
    rules: str
    step_limit: int
    memory: Files
    last_used: Mapping[str, int]


async def act(
    agent: Agent, world: World, scene: Scene, first: Observation, bench: EpisodeBench
) -> Trajectory:
    """Play until the environment ends the episode or the steps are used up.

    An inspect and a vetoed action cost no step; a program costs one for each of its actions. A
    malformed turn is corrected once; malformed again, the environment stays untouched and a step is
    consumed.

    Raises:
        BackboneError, EnvironmentFault: as the backbone and the host raise them.
    """
    record = Record()
    while len(record.steps) < scene.step_limit and not record.over:
        decision = await agent.act(_view(scene, first, record), bench)
        _note_turn(record, decision, len(bench.calls) - 1)
        if decision.kind is TurnKind.INSPECT:
            _note_inspection(record, decision)
        elif decision.kind is TurnKind.VETOED:
            _note_veto(record, decision)
        elif decision.program is not None:
            await _run(decision.program, world, record, scene.step_limit)
        elif decision.kind is TurnKind.ACTION:
            _note_step(record, await world.step(decision.content), scene.step_limit)
        elif record.correcting:
            _note_step(record, _malformed_step(record, decision), scene.step_limit)
        else:
            record.transcript.append(correction(decision.content))
            record.correcting = True
    return Trajectory(
        scene.task,
        first.goal,
        first.text,
        tuple(record.steps),
        tuple(record.turns),
        tuple(record.inspections),
        _end(record, scene.step_limit),
    )


def _view(scene: Scene, first: Observation, record: Record) -> View:
    return View(
        scene.task,
        scene.rules,
        scene.step_limit,
        first,
        tuple(record.transcript),
        len(record.steps),
        tuple(record.inspections),
        scene.memory,
        scene.last_used,
        record.correcting,
        tuple(record.turns),
        tuple(record.exchanges),
    )


async def _run(program: Program, world: World, record: Record, step_limit: int) -> None:
    """The program's actions one by one, until it, the episode or the steps are at an end."""
    started = len(record.exchanges)
    while len(record.steps) < step_limit and not record.over:
        action = await program.next(record.exchanges[started:])
        if action is None:
            break
        _add_step(record, await world.step(action))
    told = program.told(record.exchanges[started:])
    record.transcript.append(observed(told, len(record.steps), step_limit))


def _note_turn(record: Record, decision: Decision, call: int) -> None:
    step = len(record.steps) + 1
    record.turns.append(Turn(step, decision.kind, decision.thought, decision.content, decision.reply, call))
    record.transcript.append(Message("assistant", decision.said))


def _note_inspection(record: Record, decision: Decision) -> None:
    assert decision.inspection is not None
    record.inspections.append(decision.inspection)
    record.transcript.append(Message("user", decision.inspection.text))
    record.correcting = False


def _note_veto(record: Record, decision: Decision) -> None:
    record.transcript.append(Message("user", decision.veto))
    record.correcting = False


def _note_step(record: Record, step: Step, step_limit: int) -> None:
    _add_step(record, step)
    record.transcript.append(observed(step.observation, len(record.steps), step_limit))


def _add_step(record: Record, step: Step) -> None:
    record.steps.append(step)
    record.exchanges.append(Exchange(step.action, step.observation))
    record.correcting = False


def _malformed_step(record: Record, decision: Decision) -> Step:
    reward = record.steps[-1].reward if record.steps else 0.0
    excerpt = decision.reply.strip()[:MALFORMED_EXCERPT]
    return Step(excerpt, malformed_observation(), reward, False, False, Validity.MALFORMED)


def _end(record: Record, step_limit: int) -> EndReason:
    """Environments may call their last step done themselves: it is still the limit that ended it."""
    if record.steps and record.steps[-1].success:
        return EndReason.SUCCESS
    return EndReason.STEP_LIMIT if len(record.steps) >= step_limit else EndReason.FAILURE
