"""Playing a chain: episodes strictly in order, because episode k acts with what episodes < k taught.

Plain asyncio, without any framework; :mod:`flows.chain` shows it to Prefect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, reduce

from agents import registry as methods
from envs import registry as environments
from flows.budgets import OutOfBudget
from flows.catching_up import catch_up
from flows.planning import ChainPlan
from flows.progress import EpisodeEvent
from flows.runtime import Runtime
from knowledge_store.lake.journal import Journal, discard_journals
from knowledge_store.lake.lease import Lease, holding
from knowledge_store.lake.outcomes import outcomes
from knowledge_store.lake.paths import ChainPaths
from knowledge_store.lake.reader import memory_at
from knowledge_store.lake.writer import ChainWriter
from knowledge_store.memory import apply
from ocm.errors import BackboneDown, OcmError, StorageError
from ocm.types import Episode, Files
from tasks.bench import StageRunner, Stopped, run_plainly
from tasks.episode import Setting, note_use, play_episode
from tasks.track import ChainRun


class ChainStatus(StrEnum):
    """How a chain ended in this run."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    """Ended on request; the same command goes on."""
    OUT_OF_BUDGET = "paused: budget"
    """A budget is spent; the same command goes on once it is larger."""
    BACKBONE_DOWN = "paused: backbone"
    """The backbone is down or out of quota; the same command goes on when it works again."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ChainOutcome:
    """How a chain ended in this run, and how far it is."""

    chain: str
    status: ChainStatus
    episodes: int
    """Committed in all, earlier runs included."""
    planned: int
    message: str = ""


async def play_chain(
    runtime: Runtime,
    chain: ChainPlan,
    run_episode: StageRunner = run_plainly,
    run_stage: StageRunner = run_plainly,
) -> ChainOutcome:
    """Play what the lake does not hold yet. A failure is an outcome: it never cancels a sibling."""
    async with runtime.slots:
        status, message = ChainStatus.COMPLETE, ""
        try:
            if runtime.stop.is_set() and committed(runtime, chain) < len(chain.tasks):
                raise Stopped  # it had waited for a slot: reading a long chain first takes minutes
            async with _leased(runtime, chain) as lease:
                await _play(runtime, chain, lease, run_episode, run_stage)
        except Stopped:
            status, message = ChainStatus.STOPPED, "the same command goes on from here"
        except OutOfBudget as error:
            status, message = ChainStatus.OUT_OF_BUDGET, str(error)
        except BackboneDown as error:
            status, message = ChainStatus.BACKBONE_DOWN, error.message
        except OcmError as error:
            status, message = ChainStatus.FAILED, f"{error.boundary}: {error}"
        done, memory = 0, dict[str, str]()
        try:
            done = committed(runtime, chain)
            memory = await _memory(runtime, chain, done)
        except StorageError as error:
            status, message = ChainStatus.FAILED, message or f"{error.boundary}: {error}"
        await runtime.tracker.finish_chain(chain.id, str(status), memory)
        runtime.listener.chain_ended(chain, str(status), message)
        return ChainOutcome(chain.id, status, done, len(chain.tasks), message)


@asynccontextmanager
async def _leased(runtime: Runtime, chain: ChainPlan) -> AsyncIterator[Lease]:
    """The chain's lease: whoever else plays it, here or on another machine, is not disturbed.

    Raises:
        LeaseError: a living process plays the chain.
    """
    folder = ChainPaths(runtime.root, runtime.plan.spec.name, chain.id).folder
    with ExitStack() as stack:
        held = holding(runtime.root, folder, "this chain", tell=runtime.listener.note)
        yield await asyncio.to_thread(stack.enter_context, held)


async def _play(
    runtime: Runtime, chain: ChainPlan, lease: Lease, run_episode: StageRunner, run_stage: StageRunner
) -> None:
    """Play the episodes that are owed.

    Raises:
        Stopped: the runtime's ``stop`` was set.
        OutOfBudget: a budget is spent.
        OcmError: as an episode raises it.
    """
    writer = ChainWriter(runtime.root, runtime.plan.spec.name, chain.id, chain.key)
    state = await asyncio.to_thread(writer.resume)
    memory: Files = state.memory
    earlier = await asyncio.to_thread(outcomes, runtime.root, runtime.plan.spec.name, chain.id)
    run = ChainRun(chain.id, chain.key, len(chain.tasks))
    await catch_up(runtime.tracker, runtime.root, runtime.plan.spec.name, run, earlier)
    last_used: dict[str, int] = reduce(note_use, earlier, {})
    setting = _setting(runtime, chain, run_stage)
    await asyncio.to_thread(discard_journals, writer.paths, state.next_index)
    for index in range(state.next_index, len(chain.tasks)):
        if runtime.stop.is_set():
            raise Stopped
        await asyncio.to_thread(runtime.purse.check, chain.id)
        journal = await asyncio.to_thread(Journal, writer.paths.journal(index))
        try:
            work = partial(play_episode, setting, index, chain.tasks[index], memory, last_used, journal)
            episode = await run_episode(f"episode {index}", work)
            await asyncio.to_thread(_commit, lease, writer, episode)
            await asyncio.to_thread(journal.discard)
        finally:
            journal.close()
        memory = apply(memory, episode.update.delta)
        last_used = note_use(last_used, episode)
        await runtime.tracker.episode(episode, memory)
        runtime.listener.episode(EpisodeEvent.of(episode))
    await runtime.compactor.compact(writer.paths)


def _commit(lease: Lease, writer: ChainWriter, episode: Episode) -> None:
    lease.check()
    writer.commit(episode)


def _setting(runtime: Runtime, chain: ChainPlan, run_stage: StageRunner) -> Setting:
    return Setting(
        sweep=runtime.plan.spec.name,
        chain=chain.id,
        key=chain.key,
        agent=methods.create(chain.key.agent, chain.key.method_settings),
        backbone=runtime.backbones[chain.key.backbone],
        verifier=runtime.verifiers,
        lease=partial(
            runtime.hosts.lease, environments.entry(chain.key.environment), chain.key.environment_settings
        ),
        rules=chain.rules,
        step_limit=chain.step_limit,
        provenance={**runtime.provenance, "environment_version": chain.environment_version},
        attempts=runtime.plan.spec.run.episode_attempts,
        run_stage=run_stage,
        stop=runtime.stop,
    )


def committed(runtime: Runtime, chain: ChainPlan) -> int:
    """Number of episodes of the chain that the lake holds."""
    return len(ChainPaths(runtime.root, runtime.plan.spec.name, chain.id).commit_indices())


async def _memory(runtime: Runtime, chain: ChainPlan, done: int) -> dict[str, str]:
    if not done:
        return {}
    sweep = runtime.plan.spec.name
    return await asyncio.to_thread(memory_at, runtime.root, sweep, chain.id, done - 1)
