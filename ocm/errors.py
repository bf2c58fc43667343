"""One error tree. Every failure belongs to one boundary, and its message ends with the mend.

::

    OcmError
    ├── SpecError             the sweep spec, or a command's arguments (exit code 2)
    ├── BackboneError         the model server
    │   ├── BackboneTransient   worth another try: rate limit, time-out, 5xx, broken connection
    │   ├── BackboneTerminal    not worth one: key, unknown model, bad request
    │   └── BackboneDown        not now: down for longer than the spec waits, or out of quota
    ├── EnvironmentFault      the simulator or its host died or lied; the episode starts again
    ├── SandboxError          the sandbox cannot be built or has broken (never: the code in it failed)
    ├── StorageError          the lake: unwritable, damaged, of a newer schema
    └── OrchestrationError    Prefect, Ray, MLflow
        └── LeaseError          another process plays this chain or sweep

All survive pickling, since they cross Ray.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BackboneDown",
    "BackboneError",
    "BackboneTerminal",
    "BackboneTransient",
    "EnvironmentFault",
    "LeaseError",
    "OcmError",
    "OrchestrationError",
    "Problem",
    "SandboxError",
    "SpecError",
    "StorageError",
]


class OcmError(Exception):
    """Base of every error that this project raises on purpose."""

    exit_code = 1
    boundary = "ocm"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.details))


def _rebuild(kind: type[OcmError], message: str, details: dict[str, Any]) -> OcmError:
    return kind(message, **details)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input: where, what was found, and how to mend it."""

    where: str
    found: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.found} ({self.mend})" if self.found else f"{self.where}: {self.mend}"


class SpecError(OcmError):
    """A sweep spec or a command's argument is wrong; ``problems`` has one entry each."""

    exit_code = 2
    boundary = "spec"

    def __init__(self, message: str, problems: Sequence[Problem] = (), **details: Any) -> None:
        super().__init__(message, problems=tuple(problems), **details)
        self.problems = tuple(problems)


class BackboneError(OcmError):
    """A model server failed. ``details`` carry the request and the answer, never the key."""

    boundary = "backbone"


class BackboneTransient(BackboneError):
    """Another try may succeed, but all tries that the spec allows are used."""


class BackboneTerminal(BackboneError):
    """No other try can succeed."""


class BackboneDown(BackboneError):
    """The server has not worked for longer than the spec waits, or the account's quota is spent.

    Not the chain's fault: the chain pauses, and the same command goes on.
    """


class EnvironmentFault(OcmError):
    """The environment's infrastructure failed: not a failed task. The episode is the retry unit."""

    boundary = "environment"


class SandboxError(OcmError):
    """The sandbox itself is missing or broken."""

    boundary = "sandbox"


class StorageError(OcmError):
    """The lake cannot be read or written."""

    boundary = "storage"


class OrchestrationError(OcmError):
    """Prefect, Ray, MLflow or a lease failed."""

    boundary = "orchestration"


class LeaseError(OrchestrationError):
    """Another process holds the lease of this chain or sweep, or has taken it over."""
