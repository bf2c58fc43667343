"""What an agent may use of the world in one episode; everything it does here is recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

from backbones.protocol import Backbone
from ocm.types import Call, Files, Message, Observation, Replay, Reply, Request, Step, TaskRef, Verdict

T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""How long a reply under way is waited for once the chain is to stop."""


class World(Protocol):
    """A hosted environment in which a task is played."""

    async def reset(self, task: TaskRef) -> Observation: ...

    async def step(self, action: str) -> Step: ...


Lease = Callable[[], AbstractAsyncContextManager[World]]
"""A world of the chain's environment with its settings, for one use."""


class Verifier(Protocol):
    """Executes procedures against a candidate K_o in a sandbox."""

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        """One verdict per procedure, or one on ``objects.py`` when K_o itself fails.

        Raises:
            SandboxError: the sandbox broke, also on another try.
        """
        ...


class Journal(Protocol):
    """Replies of the episode that an interrupted attempt has paid for already
    (:class:`knowledge_store.lake.journal.Journal`)."""

    @property
    def replay(self) -> Replay: ...

    def begin(self) -> None: ...

    def recorded(self, request: Request) -> Reply | None: ...

    def reserve(self) -> None: ...

    def append(self, request: Request, reply: Reply) -> None: ...


class Unjournaled:
    """The journal of an episode whose replies need not survive: it keeps nothing."""

    replay = Replay()

    def begin(self) -> None: ...

    def recorded(self, request: Request) -> Reply | None:
        return None

    def reserve(self) -> None: ...

    def append(self, request: Request, reply: Reply) -> None: ...


class Stopped(Exception):
    """The chain is to stop: raised in place of the next model call. What was replied is in the journal."""


class StageRunner(Protocol):
    """Runs a stage's work; a flow may show it as a task run of its own."""

    async def __call__(self, name: str, work: Callable[[], Awaitable[T]]) -> T: ...


async def run_plainly(name: str, work: Callable[[], Awaitable[T]]) -> T:
    """The stage runner that adds nothing."""
    return await work()


class TaskRehearsal:
    """Another instance of the episode's task (:class:`agents.protocol.Rehearsal`), which counts its steps."""

    def __init__(self, world: World, task: TaskRef) -> None:
        self._world = world
        self._task = task
        self.steps = 0

    async def reset(self) -> Observation:
        return await self._world.reset(self._task)

    async def step(self, action: str) -> Step:
        self.steps += 1
        return await self._world.step(action)


class EpisodeBench:
    """Backbone, sandbox and clock of one episode (:class:`agents.protocol.Bench`)."""

    def __init__(
        self,
        backbone: Backbone,
        verifier: Verifier,
        lease: Lease,
        task: TaskRef,
        chain: str,
        episode: int,
        run_stage: StageRunner = run_plainly,
        journal: Journal | None = None,
        stop: asyncio.Event | None = None,
    ) -> None:
        self._backbone = backbone
        self._verifier = verifier
        self._lease = lease
        self._task = task
        self._chain = chain
        self._episode = episode
        self._run_stage = run_stage
        self._journal = journal or Unjournaled()
        self._stop = stop or asyncio.Event()
        self.calls: list[Call] = []
        self.stages: dict[str, float] = {}
        self.rehearsal_steps = 0

    async def complete(
        self,
        purpose: str,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = None,
    ) -> Reply:
        index = len(self.calls)
        request = Request(purpose, tuple(messages), schema, self._chain, self._episode, index, temperature)
        reply = self._journal.recorded(request) or await self._ask(request)
        self.calls.append(Call(request, reply))
        return reply

    async def _ask(self, request: Request) -> Reply:
        """A reply that is in the journal before anybody sees it."""
        if self._stop.is_set():
            raise Stopped
        await asyncio.to_thread(self._journal.reserve)
        reply = await self._reply(request)
        await asyncio.to_thread(self._journal.append, request, reply)
        return reply

    async def _reply(self, request: Request) -> Reply:
        """The backbone's reply; once the chain is to stop, it has a while to arrive."""
        asking = asyncio.ensure_future(self._backbone.complete(request))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                await asyncio.wait((asking,), timeout=PATIENCE_SECONDS)
            if not asking.done():
                raise Stopped
            return asking.result()
        finally:
            stopping.cancel()
            asking.cancel()

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return await self._verifier.verify(objects, procedures)

    async def execute(self, path: str, source: str) -> Verdict:
        (verdict,) = await self._verifier.verify("", {path: source})
        return verdict

    @asynccontextmanager
    async def rehearse(self) -> AsyncIterator[TaskRehearsal]:
        """Raises: EnvironmentFault, as the host does."""
        async with self._lease() as world:
            rehearsal = TaskRehearsal(world, self._task)
            try:
                yield rehearsal
            finally:
                self.rehearsal_steps += rehearsal.steps

    async def stage(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run a stage; its seconds add up where it runs more than once, as ``update`` does."""
        started = time.monotonic()
        try:
            return await self._run_stage(name, work)
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + time.monotonic() - started
