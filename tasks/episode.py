"""One episode, whole: act, learn, and the record of it that will be committed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.protocol import Agent
from backbones.protocol import Backbone
from knowledge_store.lake.outcomes import EpisodeOutcome
from knowledge_store.memory import apply, size
from ocm.errors import EnvironmentFault
from ocm.identity import memory_hash
from ocm.types import ChainKey, Episode, Files, TaskRef, Trajectory, UpdateOutcome
from tasks.act import Scene, act
from tasks.bench import EpisodeBench, Journal, Lease, StageRunner, Unjournaled, Verifier, run_plainly


@dataclass(frozen=True, slots=True)
class Setting:
    """What all episodes of a chain share."""

    sweep: str
    chain: str
    key: ChainKey
    agent: Agent
    backbone: Backbone
    verifier: Verifier
    lease: Lease
    rules: str
    step_limit: int
    provenance: Mapping[str, str]
    attempts: int = 3
    run_stage: StageRunner = run_plainly
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the chain is to end before its next model call."""


async def play_episode(
    setting: Setting,
    index: int,
    task: TaskRef,
    memory: Files,
    last_used: Mapping[str, int],
    journal: Journal | None = None,
) -> Episode:
    """Play one episode and learn from it; an environment that dies starts the episode again.

    Replies that are in the journal, of an attempt before or of an interrupted run, are not asked again.

    Raises:
        EnvironmentFault: every attempt that the spec allows ended with one.
        BackboneError, SandboxError, StorageError: as they come; nothing is committed.
        Stopped: ``setting.stop`` was set.
    """
    journal = journal or Unjournaled()
    for attempt in range(1, setting.attempts + 1):
        journal.begin()
        try:
            return await _attempt(setting, index, task, memory, last_used, journal, attempt)
        except EnvironmentFault as fault:
            if attempt == setting.attempts:
                raise EnvironmentFault(
                    f"episode {index} ({task.id}) of {setting.chain} failed {attempt} times: {fault}",
                    **fault.details,
                ) from fault
    raise AssertionError("unreachable: attempts is at least 1")


async def _attempt(
    setting: Setting,
    index: int,
    task: TaskRef,
    memory: Files,
    last_used: Mapping[str, int],
    journal: Journal,
    attempt: int,
) -> Episode:
    started_at, started = time.time(), time.monotonic()
    bench = EpisodeBench(
        setting.backbone,
        setting.verifier,
        setting.lease,
        task,
        setting.chain,
        index,
        setting.run_stage,
        journal,
        setting.stop,
    )
    trajectory = await bench.stage("act", lambda: _play(setting, task, memory, last_used, bench))
    acting_calls = len(bench.calls)
    update = await setting.agent.learn(trajectory, memory, bench)
    after = apply(memory, update.delta) if update.outcome is UpdateOutcome.COMMITTED else memory
    return Episode(
        sweep=setting.sweep,
        chain=setting.chain,
        index=index,
        key=setting.key,
        trajectory=trajectory,
        update=update,
        calls=tuple(bench.calls),
        memory_before=memory_hash(memory),
        memory_after=memory_hash(after),
        started_at=started_at,
        finished_at=started_at + time.monotonic() - started,  # a clock that is set meanwhile does no harm
        stages=bench.stages,
        attempt=attempt,
        acting_calls=acting_calls,
        rehearsal_steps=bench.rehearsal_steps,
        memory_bytes=size(after).bytes,
        replay=journal.replay,
        provenance={**setting.provenance, **_answered_by(bench)},
    )


async def _play(
    setting: Setting, task: TaskRef, memory: Files, last_used: Mapping[str, int], bench: EpisodeBench
) -> Trajectory:
    async with setting.lease() as world:
        first = await world.reset(task)
        scene = Scene(task, setting.rules, setting.step_limit, memory, last_used)
        return await act(setting.agent, world, scene, first, bench)


def _answered_by(bench: EpisodeBench) -> dict[str, str]:
    """The backbone's own model id and fingerprint; several, where the server changed in between."""
    replies = [call.reply for call in bench.calls]
    return {
        "backbone_model": ", ".join(sorted({reply.model for reply in replies})),
        "backbone_fingerprint": ", ".join(
            sorted({reply.fingerprint for reply in replies if reply.fingerprint})
        ),
    }


def note_use(last_used: Mapping[str, int], episode: Episode | EpisodeOutcome) -> dict[str, int]:
    """When each piece of knowledge was last inspected or written, this episode included.

    Level 0 shortens the least recently used procedures first.
    """
    return {**last_used, **dict.fromkeys(episode.used, episode.index)}
