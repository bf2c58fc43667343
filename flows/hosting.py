"""The pool of environment hosts that this machine, or Ray's cluster, can hold."""

from __future__ import annotations

from collections.abc import Sequence

from envs.capacity import check_fits, cluster_limits, free_here_mb, local_limits
from envs.memory import available_mb
from envs.pool import HostPool
from envs.registry import EnvironmentEntry
from flows.ray_session import is_local


def host_pool(
    entries: Sequence[EnvironmentEntry], hosts: int | None = None, memory_mb: int | None = None
) -> HostPool:
    """A pool within Ray's session; close it at the end.

    Args:
        entries: the environments that will be played.
        hosts: at most so many at once; by default some per core.
        memory_mb: of all together; by default a share of what is free.

    Raises:
        OrchestrationError: not even one host of an environment fits.
    """
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    if is_local():
        limits = local_limits(nodes, available_mb(), hosts, memory_mb)
        pool = HostPool(limits, free_mb=free_here_mb)
    else:
        limits = cluster_limits(nodes, hosts, memory_mb)
        pool = HostPool(limits)
    check_fits(limits, entries)
    return pool
