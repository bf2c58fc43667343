"""How many hosts fit: cores, memory, clusters, and what is said when none does."""

from __future__ import annotations

from typing import Any

import pytest

from envs import registry
from envs.capacity import SHARE, check_fits, cluster_limits, hosts_here, local_limits
from ocm.errors import OrchestrationError

GB = 2**30


def node(cores: float, memory_gb: float, alive: bool = True) -> dict[str, Any]:
    return {"Alive": alive, "Resources": {"CPU": cores, "memory": memory_gb * GB}}


def test_by_default_four_hosts_per_core_and_a_share_of_the_free_memory() -> None:
    limits = local_limits([node(2, 8)], 5000, None, None)
    assert (limits.hosts, limits.memory_mb, limits.nodes_mb) == (8, SHARE * 5000, (8192,))


def test_the_spec_sets_both() -> None:
    limits = local_limits([node(2, 8)], 5000, 3, 700)
    assert (limits.hosts, limits.memory_mb) == (3, 700)


def test_more_than_ray_offers_is_never_asked_for() -> None:
    """Ray would let a host wait for ever."""
    assert local_limits([node(2, 1)], 50_000, None, None).memory_mb == 1024
    assert local_limits([node(2, 1)], 50_000, None, 9999).memory_mb == 1024


def test_a_cluster_counts_its_living_machines() -> None:
    limits = cluster_limits([node(4, 2), node(8, 1), node(64, 64, alive=False)], None, None)
    assert (limits.hosts, limits.memory_mb, limits.nodes_mb) == (48, 3072, (2048, 1024))


def test_a_machine_without_a_whole_core_has_room_for_one() -> None:
    assert cluster_limits([node(0, 1)], None, None).hosts == 1


def test_an_environment_that_fits_nowhere_is_named_with_the_mend() -> None:
    two_small = cluster_limits([node(4, 0.25), node(4, 0.25)], None, None)
    played = [registry.entry(name) for name in ("plancraft", "scienceworld")]
    with pytest.raises(
        OrchestrationError,
        match=r"scienceworld fits: one needs \d+ MB, and hosts may take 256 MB.*environment_memory_mb",
    ):
        check_fits(two_small, played)
    check_fits(two_small, played[:1])


@pytest.mark.parametrize(("available", "hosts"), [(10_000, 8), (500, 2), (100, 0)])
def test_what_the_doctor_counts(available: float, hosts: int) -> None:
    assert hosts_here(registry.entry("plancraft"), 2, available) == hosts
