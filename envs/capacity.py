"""How many hosts a machine or a cluster can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from envs.memory import MB, available_mb
from envs.policy import Limits
from envs.registry import EnvironmentEntry
from ocm.errors import OrchestrationError

HOSTS_PER_CORE = 4
SHARE = 0.8
"""Of this machine's available memory: the rest is for the driver, Ray, the sandboxes and Prefect."""
RESERVE_MB = 256.0
"""Kept free when another host is to start, whatever others have taken meanwhile."""


def local_limits(
    nodes: Sequence[Mapping[str, Any]], available: float, hosts: int | None, memory_mb: int | None
) -> Limits:
    """Limits on this machine alone.

    Args:
        nodes: as ``ray.nodes()`` lists them: one.
        available: what :func:`envs.memory.available_mb` says before any host is started.
        hosts: ``run.environment_hosts``.
        memory_mb: ``run.environment_memory_mb``.
    """
    return cluster_limits(nodes, hosts, int(SHARE * available) if memory_mb is None else memory_mb)


def cluster_limits(nodes: Sequence[Mapping[str, Any]], hosts: int | None, memory_mb: int | None) -> Limits:
    """Limits on the machines of a cluster; arguments as for :func:`local_limits`."""
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    cores = sum(one.get("CPU", 0.0) for one in resources)
    offered = tuple(one.get("memory", 0.0) / MB for one in resources)
    budget = sum(offered) if memory_mb is None else min(sum(offered), memory_mb)
    return Limits(hosts or max(1, int(HOSTS_PER_CORE * cores)), budget, offered)


def hosts_here(entry: EnvironmentEntry, cores: float, available: float) -> int:
    """How many hosts of this environment alone this machine holds by default."""
    return min(int(HOSTS_PER_CORE * cores), int(SHARE * available / entry.memory_mb))


def free_here_mb() -> float:
    """What this machine can give to a new host at this moment."""
    return available_mb() - RESERVE_MB


def check_fits(limits: Limits, entries: Iterable[EnvironmentEntry]) -> None:
    """See that at least one host of each environment fits.

    Raises:
        OrchestrationError: one does not; the message says what is needed, what is there, and the mend.
    """
    for entry in entries:
        if entry.memory_mb > limits.largest_mb:
            raise OrchestrationError(
                f"no host of {entry.name} fits: one needs {entry.memory_mb} MB, and hosts may take "
                f"{limits.largest_mb:.0f} MB here; free memory, set a higher run.environment_memory_mb, "
                "or use a machine (or a container limit) with more"
            )
