"""The hostile suite: procedures that try to get out, by kind."""

from __future__ import annotations

from tests.sandbox.hostile import (
    chance,
    environment,
    exhaustion,
    files,
    forging,
    introspection,
    kernel,
    language,
    leaks,
    network,
    processes,
    timeouts,
)
from tests.sandbox.hostile.attack import OBJECTS, REACH, Attack

__all__ = ["ATTACKS", "BY_KIND", "OBJECTS", "REACH", "Attack"]

BY_KIND = {
    "network": network.ATTACKS,
    "files": files.ATTACKS,
    "environment": environment.ATTACKS,
    "processes": processes.ATTACKS,
    "kernel": kernel.ATTACKS,
    "exhaustion": exhaustion.ATTACKS,
    "timeouts": timeouts.ATTACKS,
    "forging": forging.ATTACKS,
    "leaks": leaks.ATTACKS,
    "introspection": introspection.ATTACKS,
    "chance": chance.ATTACKS,
    "language": language.ATTACKS,
}

ATTACKS = {f"{kind}.{name}": attack for kind, attacks in BY_KIND.items() for name, attack in attacks.items()}
"""All of them, as ``kind.name``."""
