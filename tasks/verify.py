"""Verify: procedures spread over Ray actors, each of which owns one sandbox.

Equal inputs give equal verdicts, so what was verified once against the same K_o is not executed
again (:class:`knowledge_store.sandbox.VerdictCache`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from knowledge_store.sandbox import Policy, Sandbox
from ocm.errors import SandboxError
from ocm.types import Files, Verdict

SPLIT_ABOVE = 24
"""Procedures above which one candidate is spread over several actors; each executes K_o anew."""
TRIES = 3
"""Fresh actors that are tried when one dies: verification can be repeated without harm."""


class SandboxActor:
    """One sandbox in one process. A Ray actor in a sweep; a plain object in tests."""

    def __init__(self, policy: Policy) -> None:
        self._sandbox = Sandbox(policy)

    def tier(self) -> str:
        return str(self._sandbox.protections.tier)

    def verify(self, objects: str, procedures: dict[str, str]) -> tuple[Verdict, ...]:
        return self._sandbox.verify(objects, procedures)

    def close(self) -> None:
        self._sandbox.close()


class VerifierPool:
    """Verification actors, started at the first use and shared by all chains of a process."""

    def __init__(self, policy: Policy, actors: int, deadline: float = 600.0) -> None:
        self._policy = policy
        self._free: asyncio.Queue[Any | None] = asyncio.Queue()
        self._deadline = deadline
        self._size = actors
        for _ in range(actors):
            self._free.put_nowait(None)

    async def tier(self) -> str:
        """The sandbox tier in force, A to D."""
        return str(await self._call("tier"))

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        """See :class:`tasks.bench.Verifier`."""
        parts = _split(procedures, self._size)
        answers = await asyncio.gather(*(self._call("verify", objects, part) for part in parts))
        return joined(answers)

    async def _call(self, method: str, *arguments: object) -> Any:
        from ray.exceptions import RayActorError

        for _ in range(TRIES):
            actor = await self._free.get() or self._start()
            try:
                result = await asyncio.wait_for(getattr(actor, method).remote(*arguments), self._deadline)
            except (RayActorError, TimeoutError) as error:
                self._kill(actor)
                actor, last = None, error
            else:
                return result
            finally:
                self._free.put_nowait(actor)
        raise SandboxError(
            f"the verification actor died {TRIES} times in a row ({type(last).__name__}): {last}; "
            "`ocm doctor` shows what the sandbox needs"
        ) from last

    def _start(self) -> Any:
        import ray

        remote = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(SandboxActor)
        return remote.remote(self._policy)

    @staticmethod
    def _kill(actor: Any) -> None:
        import ray

        ray.kill(actor)

    async def close(self) -> None:
        """End all actors that are at rest; their sandboxes end with them."""
        while not self._free.empty():
            if (actor := self._free.get_nowait()) is not None:
                self._kill(actor)


def _split(procedures: Files, ways: int) -> list[dict[str, str]]:
    """Equal parts, as many as pay for executing K_o once more each."""
    paths = sorted(procedures)
    parts = max(1, min(ways, len(paths) // SPLIT_ABOVE))
    return [{path: procedures[path] for path in paths[part::parts]} for part in range(parts)]


def joined(answers: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """The verdicts of all parts by path; one on K_o itself counts once."""
    by_path: Mapping[str, Verdict] = {verdict.path: verdict for part in answers for verdict in part}
    return tuple(by_path[path] for path in sorted(by_path))
