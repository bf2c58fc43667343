"""Prompts as the agents write them, and a small loop to play chains without a sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType

from agents import registry
from agents.acting import observed
from agents.prompts import SHARED, fill
from backbones.scripted import ScriptedBackboneClient
from envs.plancraft.environment import PlancraftEnvironment
from envs.protocol import Environment
from knowledge_store.index import level0
from knowledge_store.memory import apply
from knowledge_store.sandbox import Sandbox
from ocm.spec import ScriptedBackbone
from ocm.types import ChainKey, Episode, Files, Message, Observation, Request, Step, TaskRef, Verdict
from tasks.bench import Verifier
from tasks.episode import Setting, play_episode

OCM_PROMPTS = "agents.ocm.prompts"


def inventory(target: str, *stacks: str) -> str:
    """An observation; a stack is ``"slot item quantity"``."""
    lines = []
    for stack in stacks:
        slot, item, quantity = stack.split()
        lines.append(f" - {item} [{slot}] quantity {quantity}")
    return "\n".join([f"Craft an item of type: {target}", "inventory:", *lines])


def acting(target: str, *stacks: str, memory: Files | None = None, full: bool = False) -> list[Message]:
    """The first messages of an episode."""
    text = memory_text(memory, full) if memory else ""
    system = fill(
        SHARED, "act_system", step_limit=30, rules="Rules.", reply=fill(SHARED, "act_reply"), memory=text
    )
    goal = fill(
        SHARED, "act_goal", goal=f"Craft an item of type: {target}", observation=inventory(target, *stacks)
    )
    return [Message("system", system), Message("user", goal)]


def memory_text(memory: Files, full: bool) -> str:
    if full:
        how = fill(OCM_PROMPTS, "memory_how_full")
        knowledge = "\n\n".join(f"### {path}\n```python\n{text}```" for path, text in memory.items())
    else:
        how = fill(OCM_PROMPTS, "memory_how_progressive", per_step=3, per_episode=15)
        knowledge = level0(memory).text
    return fill(OCM_PROMPTS, "memory", how=how, knowledge=knowledge)


def after(action: str, step: int, observation: str) -> list[Message]:
    """One action and what came of it."""
    return [Message("assistant", f"Well.\n\nAction: {action}"), observed(observation, step, 30)]


def request(messages: Sequence[Message], purpose: str = "act", call: int = 0) -> Request:
    return Request(purpose, tuple(messages), None, "chain", 0, call)


class Yes:
    """A verifier that passes everything, for tests of the playing alone."""

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return tuple(Verdict(path, True, "ok") for path in procedures)


class Boxed:
    """A verifier that executes in a sandbox of this process."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return self._sandbox.verify(objects, procedures)


class Table:
    """A lease on an environment of this process."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def __aenter__(self) -> Table:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def reset(self, task: TaskRef) -> Observation:
        return self._environment.reset(task)

    async def step(self, action: str) -> Step:
        return self._environment.step(action)


def play(
    method: str, tasks: int, *, seed: int = 0, error_rate: float = 0.0
) -> tuple[list[Episode], dict[str, str]]:
    """A chain over the first tasks of ``val.small``: its episodes, and the memory in the end."""
    environment = PlancraftEnvironment()
    return play_tasks(
        environment, environment.tasks("val.small")[:tasks], method, seed=seed, error_rate=error_rate
    )


def play_tasks(
    environment: Environment,
    tasks: Sequence[TaskRef],
    method: str,
    *,
    seed: int = 0,
    error_rate: float = 0.0,
    verifier: Verifier | None = None,
) -> tuple[list[Episode], dict[str, str]]:
    """A chain over these tasks: its episodes, and the memory in the end."""
    return asyncio.run(_play(environment, tasks, method, seed, error_rate, verifier or Yes()))


async def _play(
    environment: Environment,
    tasks: Sequence[TaskRef],
    method: str,
    seed: int,
    error_rate: float,
    verifier: Verifier,
) -> tuple[list[Episode], dict[str, str]]:
    key = ChainKey(method, "ocm", {}, environment.name, {}, "", "benchmark", "scripted", {}, seed, "")
    setting = Setting(
        sweep="test",
        chain=f"{method}-{seed}",
        key=key,
        agent=registry.create(method, {}),
        backbone=ScriptedBackboneClient(ScriptedBackbone(error_rate=error_rate)),
        verifier=verifier,
        lease=lambda: Table(environment),
        rules=environment.rules,
        step_limit=environment.step_limit,
        provenance={},
    )
    memory: dict[str, str] = {}
    episodes = []
    for index, task in enumerate(tasks):
        episode = await play_episode(setting, index, task, memory, {})
        memory = dict(apply(memory, episode.update.delta))
        episodes.append(episode)
    return episodes, memory
