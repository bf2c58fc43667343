"""One short sweep under every kind of fault at once; ``make faults`` does the same at length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.answers import Chances
from tests.faults.conftest import Undisturbed
from tests.faults.disturbing import disturb, missing_faults
from tests.faults.processes import Victim
from tests.faults.storm import Plan

pytestmark = pytest.mark.timeout(1800)  # several starts, on whatever machine

EPISODES = 4
PLAN = Plan(
    seed=1,
    driver_kills=2,
    starting=0.0,
    playing_seconds=3.0,
    kinds={Victim.HOST: 3, Victim.VERIFIER: 2, Victim.SANDBOX: 2, Victim.PREFECT: 2, Victim.MLFLOW: 2},
    pause=(0.2, 1.0),
)


def test_a_short_sweep_under_every_fault(undisturbed: Undisturbed, tmp_path: Path) -> None:
    report = disturb(tmp_path, undisturbed(EPISODES), EPISODES, PLAN, Chances(1, 0.25), timeout=5.0)
    print(report)
    assert report.kills[Victim.DRIVER] == 2
    assert report.kills.keys() == {Victim.DRIVER, *PLAN.kinds}, report
    assert not missing_faults(report)
