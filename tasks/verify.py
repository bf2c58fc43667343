"""Verify: procedures spread over Ray actors, each of which owns one sandbox.

Equal inputs give equal verdicts, so what was verified once against the same K_o is not executed again.
The verdicts are remembered here, on this side of the actors: any of them may get the next candidate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from knowledge_store.memory import OBJECTS
from knowledge_store.sandbox import Policy, Sandbox, VerdictCache
from ocm.errors import SandboxError
from ocm.types import Files, Verdict

SPLIT_ABOVE = 24
"""Procedures above which one candidate is spread over several actors; each executes K_o anew."""
TRIES = 3
"""Tries when an actor dies or its sandbox breaks: verification can be repeated without harm."""
KILLED_AGAIN = 2
"""Times that what was killed is executed once more."""


class SandboxActor:
    """One sandbox in one process, made at the first use, so that a refusal reaches the caller as such."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._sandbox: Sandbox | None = None

    def _open(self) -> Sandbox:
        self._sandbox = self._sandbox or Sandbox(self._policy)
        return self._sandbox

    def tier(self) -> str:
        return str(self._open().protections.tier)

    def verify(self, objects: str, procedures: dict[str, str]) -> tuple[Verdict, ...]:
        return self._open().verify(objects, procedures)


class VerifierPool:
    """Verification actors, started at the first use and shared by all chains of a process."""

    def __init__(self, policy: Policy, actors: int, patience: float = 120.0) -> None:
        """``patience``: seconds beyond the sum of the limits until an actor counts as lost."""
        self._policy = policy
        self._patience = patience
        self._size = actors
        self._known = VerdictCache()
        self._started: list[Any] = []
        self._free: asyncio.LifoQueue[Any | None] = asyncio.LifoQueue()
        for _ in range(actors):
            self._free.put_nowait(None)

    async def tier(self) -> str:
        """The sandbox tier in force, A to D.

        Raises:
            SandboxError: the machine offers less than the policy asks for.
        """
        return str(await self._call("tier", self._patience))

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        """See :class:`tasks.bench.Verifier`."""
        known, missing = self._known.split(objects, procedures)
        if not missing and known:
            return joined([known])
        parts = await asyncio.gather(*(self._execute(objects, part) for part in _split(missing, self._size)))
        fresh = joined(parts)
        self._known.add(objects, procedures, fresh)
        if any(verdict.path == OBJECTS for verdict in fresh):
            return fresh
        if unanswered := missing.keys() - {verdict.path for verdict in fresh}:
            raise SandboxError(
                f"the sandbox gave no verdict on {', '.join(sorted(unanswered))}; this is a bug"
            )
        return joined([known, fresh])

    async def _execute(self, objects: str, procedures: dict[str, str]) -> tuple[Verdict, ...]:
        async def run(part: Files) -> tuple[Verdict, ...]:
            seconds = self._patience + self._policy.wall_seconds * (len(part) + 2)
            verdicts: tuple[Verdict, ...] = await self._call("verify", seconds, objects, part)
            return verdicts

        return await settled(run, procedures)

    async def _call(self, method: str, seconds: float, *arguments: object) -> Any:
        from ray.exceptions import OutOfMemoryError, RayActorError

        problem: Exception | None = None
        for _ in range(TRIES):
            try:
                async with self._lease() as actor:
                    return await asyncio.wait_for(getattr(actor, method).remote(*arguments), seconds)
            except (RayActorError, OutOfMemoryError, SandboxError, TimeoutError) as error:
                problem = error
        if isinstance(problem, SandboxError):
            raise SandboxError(problem.message) from problem
        raise SandboxError(
            f"the verification actor was lost {TRIES} times in a row ({type(problem).__name__}: {problem}); "
            "`ocm doctor` shows what the sandbox needs"
        ) from problem

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[Any]:
        """An actor for one call.

        One whose call did not come back, as when the caller is cancelled, may be busy for long: it is
        killed, and its place is free for a new one. A sandbox that breaks mends itself.
        """
        actor = await self._free.get()
        try:
            actor = actor or self._start()
            yield actor
        except SandboxError:
            raise
        except BaseException:
            self._kill(actor)
            actor = None
            raise
        finally:
            self._free.put_nowait(actor)

    def _start(self) -> Any:
        import ray

        remote = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(SandboxActor)
        actor = remote.remote(self._policy)
        self._started.append(actor)
        return actor

    def _kill(self, actor: Any | None) -> None:
        import ray

        if actor is not None:
            self._started.remove(actor)
            ray.kill(actor)

    async def close(self) -> None:
        """End all actors; their sandboxes end with them. May be called twice."""
        for actor in list(self._started):
            self._kill(actor)
        for _ in range(self._free.qsize()):
            self._free.get_nowait()
            self._free.put_nowait(None)


async def settled(
    run: Callable[[Files], Awaitable[tuple[Verdict, ...]]], procedures: Files
) -> tuple[Verdict, ...]:
    """The verdicts of ``run``; what was killed is run again, up to :data:`KILLED_AGAIN` times.

    A signal from outside, as from a kernel short of memory, looks like a crash of the code. Code that
    crashes does so again; a kill from outside must not change what a chain learns.
    """
    verdicts = await run(procedures)
    for _ in range(KILLED_AGAIN):
        killed = {verdict.path for verdict in verdicts if verdict.kind == "killed"}
        if not killed:
            break
        if OBJECTS in killed:
            verdicts = await run(procedures)
        else:
            verdicts = joined([verdicts, await run({path: procedures[path] for path in killed})])
    return verdicts


def _split(procedures: Files, ways: int) -> list[dict[str, str]]:
    """Equal parts, as many as pay for executing K_o once more each."""
    paths = sorted(procedures)
    parts = max(1, min(ways, len(paths) // SPLIT_ABOVE))
    return [{path: procedures[path] for path in paths[part::parts]} for part in range(parts)]


def joined(answers: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """The verdicts of all parts by path; one on K_o itself counts alone."""
    by_path: Mapping[str, Verdict] = {verdict.path: verdict for part in answers for verdict in part}
    if OBJECTS in by_path:
        return (by_path[OBJECTS],)
    return tuple(by_path[path] for path in sorted(by_path))
