"""The wall clock jumps by hours while a sweep is played: nothing but time stamps shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.faults.answers import Chances
from tests.faults.conftest import Undisturbed
from tests.faults.disturbing import disturb
from tests.faults.jumping_clock import LONGEST_JUMP, SECONDS_BETWEEN, JumpingClock
from tests.faults.storm import Plan

EPISODES = 4


def test_the_clock_jumps_both_ways() -> None:
    steady = iter(range(1000))
    clock = JumpingClock(1, lambda: 0.0, lambda: float(next(steady)) * SECONDS_BETWEEN)
    seen = [clock.time() for _ in range(50)]
    assert min(seen) < -LONGEST_JUMP / 2 and max(seen) > LONGEST_JUMP / 2


@pytest.mark.faults
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_sweep_under_a_jumping_clock(seed: int, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """One kill in between, so that the leases of a dead holder are judged under such a clock, too."""
    program = ("-m", "tests.faults.jumping_clock", str(seed))
    plan = Plan(seed, driver_kills=1, starting=0.0, playing_seconds=3.0)
    report = disturb(
        tmp_path, undisturbed(EPISODES), EPISODES, plan, Chances(seed, 0.1), own_prefect=True, program=program
    )
    print(f"seed {seed}: {report}")
    last = max((tmp_path / "logs").glob("*.err")).read_text("utf-8")
    jumps = re.search(r"the clock was set (\d+) times", last)
    assert jumps and int(jumps[1]) >= 3, last
