"""Undisturbed runs of the same sweep, by their length, played once each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.command import digest
from tests.faults.driver import METHODS, SWEEP, Driver, write_spec
from tests.faults.model_server import model_server
from tests.faults.outcome import check_lake, check_mlflow

Undisturbed = Callable[[int], str]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """From the number of episodes per chain to what ``ocm digest`` prints of a run without faults."""
    known: dict[int, str] = {}

    def played(limit: int) -> str:
        if limit not in known:
            folder = tmp_path_factory.mktemp("undisturbed")
            with model_server(folder / "requests.jsonl") as server:
                spec = write_spec(folder / "spec.toml", server.url, limit)
                driver = Driver(spec, folder / "runs", folder / "logs")
                driver.start()
                assert driver.wait() == 0, driver.said()
                asked = server.asked()
                assert len({one.content for one in asked}) == len(asked), "a request is not unique"
            known[limit] = digest(folder / "runs", SWEEP)
            check_lake(folder / "runs", known[limit], len(METHODS), limit)
            check_mlflow(folder / "runs", folder / "runs" / ".mlflow" / "mlflow.db")
        return known[limit]

    return played
