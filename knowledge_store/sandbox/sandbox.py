"""The sandbox as the rest of the project sees it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from knowledge_store.sandbox.policy import Policy
from knowledge_store.sandbox.protections import MEANING, Protection, Protections, Tier
from knowledge_store.sandbox.verdicts import judge
from knowledge_store.sandbox.zygote_process import ZygoteProcess
from ocm.errors import SandboxError
from ocm.types import Verdict

OBJECTS = "objects.py"
CANARY = "canary.py"
FORGED = "objects.py interferes with its own verification: a procedure that must fail did not fail"
MARGIN_SECONDS = 30.0
"""What a busy machine may add to the sum of the limits before the zygote counts as lost."""


class Sandbox:
    """One zygote. Synchronous, safe to call from any thread, one verification at a time.

    Raises :class:`~ocm.errors.SandboxError` when the machine offers less than tier C and the policy does
    not say ``allow_degraded``.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self._lock = threading.Lock()
        self._closed = False
        self._zygote: ZygoteProcess | None = _start(self.policy)
        hello = self._zygote.hello
        self.protections = _protections(hello["layers"])
        self.python: str = hello["python"]
        self.clones: bool = hello["clones"]
        """Whether K_o is executed once per candidate and cloned, or once per procedure."""

    def verify(self, objects: str, procedures: Mapping[str, str]) -> tuple[Verdict, ...]:
        """Execute K_o, then every procedure against it, each in a process of its own.

        Returns one verdict per procedure, sorted by path; a single one for ``objects.py`` when K_o itself
        fails, or when there is no procedure. A pass says "verified to execute", never "correct".
        """
        paths = sorted(procedures)
        if not paths and not objects.strip():
            return ()
        large = self._too_large({**procedures, OBJECTS: objects})
        if any(verdict.path == OBJECTS for verdict in large):
            return tuple(verdict for verdict in large if verdict.path == OBJECTS)
        oversized = {verdict.path: verdict for verdict in large}
        runnable = [path for path in paths if path not in oversized]
        with self._lock:
            verdicts = self._execute(objects, [(path, procedures[path]) for path in runnable])
        if verdicts[0].path == OBJECTS:
            return tuple(large) if verdicts[0].ok and large else verdicts
        return tuple(sorted((*verdicts, *large), key=lambda verdict: verdict.path))

    def close(self) -> None:
        """End the zygote and everything it started, for good. May be called twice."""
        self._closed = True
        self._end_zygote()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end_zygote(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote:
            zygote.close()

    def _too_large(self, files: Mapping[str, str]) -> list[Verdict]:
        limit = self.policy.source_chars
        return [
            Verdict(path, False, "static", f"{path}: {len(text)} characters, more than the limit of {limit}")
            for path, text in files.items()
            if len(text) > limit
        ]

    def _execute(self, objects: str, procedures: Sequence[tuple[str, str]]) -> tuple[Verdict, ...]:
        nonce = secrets.token_hex(8)
        canary = [(CANARY, f"raise AssertionError({nonce!r})")] if procedures else []
        answer = self._ask({"objects": objects, "procedures": [*canary, *procedures]})
        first = judge(OBJECTS, answer["objects"], self.policy)
        outcomes = answer["procedures"]
        if not first.ok or not outcomes:
            return (first,)
        bird = judge(CANARY, outcomes[0], self.policy)
        if bird.kind == "ok" or (bird.kind == "exception" and nonce not in bird.report):
            return (Verdict(OBJECTS, False, "protocol", FORGED),)
        paths = [path for path, _ in procedures]
        return tuple(
            judge(path, outcome, self.policy) for path, outcome in zip(paths, outcomes[1:], strict=True)
        )

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        if self._closed:
            raise SandboxError("the sandbox is closed; make a new one")
        if self._zygote is None:  # the last one broke
            self._zygote = _start(self.policy)
        seconds = self.policy.wall_seconds * (len(job["procedures"]) + 2) + MARGIN_SECONDS
        try:
            return self._zygote.ask(job, seconds)
        except SandboxError:
            self._end_zygote()
            raise


def _start(policy: Policy) -> ZygoteProcess:
    zygote = ZygoteProcess(policy.wire())
    protections = _protections(zygote.hello["layers"])
    if protections.tier is Tier.D and not policy.allow_degraded:
        zygote.close()
        raise SandboxError(_refusal(protections))
    return zygote


def probe(policy: Policy | None = None) -> Protections:
    """Start a zygote and say what is really in force here; never refuses."""
    zygote = ZygoteProcess((policy or Policy()).wire())
    zygote.close()
    return _protections(zygote.hello["layers"])


def _protections(reasons: Mapping[str, str]) -> Protections:
    return Protections(tuple(Protection(name, not reason, reason) for name, reason in reasons.items()))


def _refusal(protections: Protections) -> str:
    return "\n".join(
        [
            f"model-written code cannot be contained here ({MEANING[Tier.D]}).",
            *protections.describe()[1:],
            "Mend: run on Linux (x86_64 or aarch64) with seccomp, in a container if need be; "
            "or set allow_degraded (in a sweep spec, under [verification]: "
            "i_accept_that_model_written_code_runs_without_a_full_sandbox = true).",
        ]
    )
