"""Kills at seeded random moments, and what they left behind."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.driver import SWEEP, Driver
from tests.faults.ledger import Kept, Replies
from tests.faults.processes import Victim, kill, victims
from tests.faults.services import Service

MOST_LIVES = 60
"""Starts of a driver after which the sweep counts as stuck."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is killed how often. Times are seconds."""

    seed: int
    driver_kills: int = 0
    starting: float = 0.2
    """Share of the driver's kills that hit while it is starting."""
    starting_seconds: float = 10.0
    playing_seconds: float = 8.0
    """Longest time from the first episode that it tells of to its end."""
    kinds: Mapping[Victim, int] = field(default_factory=dict)
    """Kills of each other kind; what is left of them when the sweep is complete is left out."""
    pause: tuple[float, float] = (0.2, 1.0)
    """Between two of these, which all hit while the driver plays: a start needs its servers."""


@dataclass(slots=True)
class Storm:
    """Carries out a plan on one driver until the sweep is complete; the record of it."""

    plan: Plan
    driver: Driver
    services: Sequence[Service] = ()
    kills: Counter[Victim] = field(default_factory=Counter)
    moments: list[tuple[str, float]] = field(default_factory=list)
    """Kind, and seconds since the driver's start: to play it again by hand."""
    kept: list[Kept] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What lives that ended by themselves without being complete had said."""

    def run(self) -> None:
        """Start, kill and start again until a life ends as complete.

        Raises:
            AssertionError: it is not complete after :data:`MOST_LIVES` lives.
        """
        draws = random.Random(self.plan.seed)
        replies = Replies(self.driver.root, SWEEP)
        for _ in range(MOST_LIVES):
            self._wait_for_services()
            self.driver.start()
            if not self._life(draws):
                self.kept.append(Kept(self.driver.started, time.time(), replies.on_disk()))
            elif self.driver.wait() == 0:
                return
            else:
                self.failures.append(self.driver.said()[-3000:])
                self.kept.append(Kept(self.driver.started, time.time(), replies.on_disk()))
        raise AssertionError(f"not complete after {MOST_LIVES} lives: {self.report()}")

    def report(self) -> str:
        """In one line, with what is needed to see it again."""
        moments = ", ".join(f"{kind} {at:.2f}" for kind, at in self.moments)
        kills = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kills.items()))
        return (
            f"seed {self.plan.seed}: {kills}; {self.driver.lives} lives; logs {self.driver.logs}; "
            f"failed lives {self.failures}; moments {moments}"
        )

    def _life(self, draws: random.Random) -> bool:
        """One life; False if it was killed, True if it ended or ends by itself."""
        owed = self.kills[Victim.DRIVER] < self.plan.driver_kills
        starting = draws.random() < self.plan.starting
        delay = draws.random() * (self.plan.starting_seconds if starting else self.plan.playing_seconds)
        doomed = self.driver.started + delay if owed and starting else float("inf")
        strike = time.time() + draws.uniform(*self.plan.pause)
        while self.driver.is_running():
            now = time.time()
            if owed and not starting and doomed == float("inf") and self.driver.episodes_told():
                doomed = now + delay
            if now >= doomed:
                self._note(Victim.DRIVER)
                self.driver.kill()
                return False
            if now >= strike and self.driver.plays():
                self._strike(draws)
                strike = time.time() + draws.uniform(*self.plan.pause)
            self._restart_services()
            time.sleep(0.03)
        return True

    def _strike(self, draws: random.Random) -> None:
        """Kill one of what is still owed, if there is one; servers are started again at once."""
        owed = [kind for kind, count in self.plan.kinds.items() if self.kills[kind] < count]
        if not owed:
            return
        kind = draws.choice(sorted(owed))
        for service in self.services:
            if service.kind is kind:
                if service.is_ready():
                    self._note(kind)
                    service.kill()
                return
        there = victims(self.driver.pid, kind)
        if there and kill(draws.choice(there)):
            self._note(kind)

    def _restart_services(self) -> None:
        for service in self.services:
            if service.process is None:
                service.start()

    def _wait_for_services(self) -> None:
        self._restart_services()
        for service in self.services:
            service.wait_ready()

    def _note(self, kind: Victim) -> None:
        self.kills[kind] += 1
        self.moments.append((str(kind), time.time() - self.driver.started))
