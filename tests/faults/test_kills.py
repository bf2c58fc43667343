"""Drivers, hosts, verifiers and servers killed at seeded random moments, more than 200 in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.answers import Chances
from tests.faults.conftest import Undisturbed
from tests.faults.disturbing import disturb
from tests.faults.processes import Victim
from tests.faults.storm import Plan

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]

EPISODES = 30
WITH_DRIVERS = {Victim.HOST: 12, Victim.VERIFIER: 8, Victim.SANDBOX: 8, Victim.PREFECT: 5, Victim.MLFLOW: 5}
WITHOUT = {Victim.HOST: 20, Victim.VERIFIER: 10, Victim.SANDBOX: 10, Victim.PREFECT: 1, Victim.MLFLOW: 3}


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_everything_is_killed(seed: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """48 kills, ten of them of the driver, a fifth of those while it starts."""
    plan = Plan(seed, driver_kills=10, kinds=WITH_DRIVERS)
    report = disturb(tmp_path, undisturbed(EPISODES), EPISODES, plan, Chances(seed, 0.08))
    print(f"seed {seed}: {report}")
    assert report.kills[Victim.DRIVER] == 10
    assert report.kills.total() >= 40, "the sweep was over before the kills were"


def test_a_driver_outlives_all_that_it_started(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """One life; its own Prefect server, killed once, is not needed any more. No reply is asked for twice."""
    plan = Plan(5, kinds=WITHOUT)
    report = disturb(tmp_path, undisturbed(EPISODES), EPISODES, plan, Chances(5, 0.0), own_prefect=True)
    print(report)
    assert report.kills.total() >= 35, "the sweep was over before the kills were"
    assert report.repeats == 0
