"""A whole disturbed sweep: servers, storm, and everything that must hold afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.command import ocm
from tests.faults.answers import Chances, Transport
from tests.faults.driver import METHODS, OCM, SWEEP, Driver, write_spec
from tests.faults.ledger import answered_twice, asked_again, in_flight
from tests.faults.model_server import Asked, model_server
from tests.faults.outcome import check_lake, check_mlflow, half_written
from tests.faults.processes import Victim
from tests.faults.services import address, mlflow_service, prefect_service, running
from tests.faults.storm import Plan, Storm

LATENCY = (0.05, 0.15)
"""Seconds that the model takes: long enough to be hit."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was done to a sweep and what it cost."""

    kills: Counter[Victim]
    asked: int
    faults: Counter[str]
    odd: Counter[str]
    repeats: int
    """Replies in flight when a driver was killed, which had to be asked for again."""
    metrics: int

    def __str__(self) -> str:
        kills = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kills.items()))
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        odd = ", ".join(f"{kind} {count}" for kind, count in sorted(self.odd.items()))
        return (
            f"kills: {kills or 'none'}; {self.asked} requests, of which {sum(self.faults.values())} met a "
            f"transport fault ({faults}) and some an odd answer ({odd}); {self.repeats} replies in flight "
            f"asked again; {self.metrics} values in MLflow, each once"
        )


def disturb(
    folder: Path,
    undisturbed: str,
    limit: int,
    plan: Plan,
    chances: Chances,
    *,
    own_prefect: bool = False,
    program: Sequence[str] = OCM,
    timeout: float = 10.0,
) -> Report:
    """Play the sweep under a plan's kills and the server's faults, and check all that must hold.

    ``own_prefect``: the driver starts its own Prefect server; else it uses one that is started again after
    each kill. ``undisturbed``: the digest of a run without any of this.

    Raises:
        AssertionError: with the plan's seed and the moments of all kills.
    """
    with ExitStack() as stack:
        server = stack.enter_context(model_server(folder / "requests.jsonl", chances, LATENCY))
        mlflow = mlflow_service(folder / "mlflow")
        prefect = None if own_prefect else prefect_service(folder / "prefect")
        services = [mlflow, *([prefect] if prefect else [])]
        environ = {"PREFECT_API_URL": address(prefect)} if prefect else {}
        stack.enter_context(running(*services))
        spec = write_spec(folder / "spec.toml", server.url, limit, timeout=timeout, tracking=address(mlflow))
        driver = Driver(spec, folder / "runs", folder / "logs", environ, program)
        storm = Storm(plan, driver, services)
        stack.callback(driver.end)
        try:
            storm.run()
            _tell_mlflow_the_rest(storm, driver.root)
            repeats = check_requests(server.asked(), storm)
            check_lake(driver.root, undisturbed, len(METHODS), limit)
            assert half_written(driver.root) == []
            metrics = check_mlflow(driver.root, folder / "mlflow" / "mlflow.db")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{storm.report()}") from error
        asked = server.asked()
        faults = Counter(one.fault for one in asked if one.fault)
        odd = Counter(one.odd for one in asked if one.odd)
        return Report(storm.kills, len(asked), faults, odd, repeats, metrics)


def check_requests(asked: Sequence[Asked], storm: Storm) -> int:
    """No reply that was kept was asked for again; returns how many were in flight and lost with a driver."""
    assert asked_again(asked, storm.kept) == []
    lost = [in_flight(asked, life) for life in storm.kept]
    assert all(len(life) <= len(METHODS) for life in lost), "more than one reply per chain was in flight"
    allowed = Counter(one.content for life in lost for one in life)
    repeated = answered_twice(asked)
    assert repeated <= allowed, f"answered twice without a kill: {repeated - allowed}"
    return repeated.total()


def missing_faults(report: Report) -> set[str]:
    """Kinds of transport faults that did not come up."""
    return {str(kind) for kind in Transport} - report.faults.keys()


def _tell_mlflow_the_rest(storm: Storm, root: Path) -> None:
    """What MLflow missed while it was down is told by the command that the run's warning names."""
    for service in storm.services:
        if service.process is None:
            service.start()
        service.wait_ready()
    told = ocm("mlflow", "sync", SWEEP, "--root", root)
    assert told.code == 0, told.err
