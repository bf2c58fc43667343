"""Every call to MLflow that the project makes: blocking, by ``MlflowClient`` only, for one thread.

MLflow is imported on :meth:`RunStore.open` and not before, since that costs seconds.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ocm.errors import OrchestrationError
from ocm.redaction import Redaction, filled_in, password_in, secrets_in, without_password
from ocm.types import Files
from tasks.mlflow_registry import locked

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

SENTINEL = "running_sr"
"""A metric of every episode: its history tells which episodes MLflow knows."""

MAX_VALUE = 6000
"""Characters of a parameter, by MLflow's limits; a tag may have 8,000."""
MAX_PER_BATCH = 100
"""Parameters in one request."""

_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    # Tracking is derived and can be caught up: do not hang on a dead server for the default 10 minutes.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
}


class RunStore:
    """One experiment on one MLflow server or database."""

    def __init__(self, uri: str, experiment: str, artifacts: Path) -> None:
        """``artifacts``: where a database without a server of its own keeps artifacts."""
        self.uri = uri
        self.experiment = experiment
        self._artifacts = artifacts
        self._client: MlflowClient | None = None
        self._experiment_id = ""

    @property
    def client(self) -> MlflowClient:
        assert self._client is not None, "open() comes first"
        return self._client

    def open(self) -> None:
        """Make the database and the experiment if there are none.

        Raises:
            OrchestrationError: the server cannot be reached, or refuses.
        """
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        logging.getLogger("alembic").setLevel(logging.WARNING)
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # else a traceback per failure
        try:
            with ExitStack() as stack:
                if database := _sqlite_file(self.uri):  # two processes must not migrate it at once
                    database.parent.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(locked(database.with_suffix(".lock")))
                self._client = MlflowClient(filled_in(self.uri, os.environ))
                self._experiment_id = self._find_experiment()
        except KeyError as missing:
            raise OrchestrationError(
                f"tracking.uri: the environment variable {missing.args[0]} is not set; set it"
            ) from None
        except (MlflowException, OSError) as error:
            raise OrchestrationError(
                f"tracking.uri: MLflow at {without_password(self.uri)} cannot be used: "
                f"{self.first_line(error)}; start that server or correct the URI "
                f"(sqlite:///path/mlflow.db needs no server)"
            ) from None  # the cause may name the address with its password

    def first_line(self, error: Exception) -> str:
        """What an error says at first, without the secrets of this process's environment.

        SQLAlchemy may begin with a remark in brackets on when it was raised.
        """
        lines = (str(error) or type(error).__name__).splitlines()
        line = next((one for one in lines if not one.startswith("(raised as a result")), lines[0])
        return Redaction([*secrets_in(os.environ), password_in(self.uri) or ""]).text(line)

    def _find_experiment(self) -> str:
        found = self.client.get_experiment_by_name(self.experiment)
        if found is None:
            return self.client.create_experiment(self.experiment, artifact_location=self._artifact_location())
        if found.lifecycle_stage != "active":
            raise OrchestrationError(
                f"tracking.experiment: {self.experiment!r} is deleted in MLflow; choose another name, "
                f"or restore it: mlflow experiments restore -x {found.experiment_id}"
            )
        return str(found.experiment_id)

    def _artifact_location(self) -> str | None:
        """None where a server decides it."""
        if urlsplit(self.uri).scheme in ("http", "https", "databricks"):
            return None
        database = _sqlite_file(self.uri)
        return str((database.parent / "artifacts" if database else self._artifacts).resolve())

    def run(
        self, known: str | None, identity: Mapping[str, str], tags: Mapping[str, str], started_ms: int | None
    ) -> Run:
        """The run ``known``, else the one with the tags of ``identity``, else a new one; running again."""
        found = self._known(known) or self._search(identity)
        if found is None:
            return self.client.create_run(
                self._experiment_id, start_time=started_ms, tags={**tags, **identity}
            )
        for name, value in tags.items():
            if found.data.tags.get(name) != value:
                self.client.set_tag(found.info.run_id, name, value)
        return found

    def _known(self, run_id: str | None) -> Run | None:
        from mlflow.exceptions import MlflowException

        if run_id is None:
            return None
        try:
            found = self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        return found if found.info.lifecycle_stage == "active" else None

    def _search(self, identity: Mapping[str, str]) -> Run | None:
        wanted = " and ".join(f"tags.`{name}` = '{value}'" for name, value in identity.items())
        found = self.client.search_runs([self._experiment_id], wanted, max_results=1)
        return found[0] if found else None

    def log_parameters(self, run: Run, parameters: Mapping[str, str]) -> None:
        """Log those that the run has not: MLflow never changes a parameter."""
        from mlflow.entities import Param

        new = [
            Param(metric_name(name), value[:MAX_VALUE])
            for name, value in parameters.items()
            if metric_name(name) not in run.data.params
        ]
        for start in range(0, len(new), MAX_PER_BATCH):
            self.client.log_batch(run.info.run_id, params=new[start : start + MAX_PER_BATCH])

    def log_metrics(self, run_id: str, step: int, timestamp_ms: int, metrics: Mapping[str, float]) -> None:
        """One request; the same values at the same time and step again change nothing."""
        from mlflow.entities import Metric

        batch = [Metric(metric_name(name), value, timestamp_ms, step) for name, value in metrics.items()]
        self.client.log_batch(run_id, metrics=batch)

    def known_episodes(self, run_id: str) -> dict[int, int]:
        """Episodes that a chain's run has: index -> timestamp in ms."""
        history = self.client.get_metric_history(run_id, SENTINEL)
        return {metric.step: metric.timestamp for metric in history}

    def log_text(self, run_id: str, path: str, text: str) -> None:
        self.client.log_text(run_id, text, path)

    def log_files(self, run_id: str, folder: str, files: Files) -> None:
        """All files as artifacts under ``folder``."""
        with tempfile.TemporaryDirectory(prefix="ocm-artifacts-") as aside:
            for path, text in files.items():
                place = Path(aside, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            self.client.log_artifacts(run_id, aside, folder)

    def set_tag(self, run_id: str, name: str, value: str) -> None:
        self.client.set_tag(run_id, name, value)

    def set_running(self, run: Run) -> None:
        if run.info.status != "RUNNING":
            self.client.update_run(run.info.run_id, status="RUNNING")

    def terminate(self, run_id: str, status: str, ended_ms: int | None = None) -> None:
        self.client.set_terminated(run_id, status, ended_ms)


def next_unknown(known: Sequence[int] | Mapping[int, int]) -> int:
    """The first index that is missing."""
    return next(index for index in count() if index not in known)


def metric_name(name: str) -> str:
    """A name with the characters that MLflow allows in metrics and parameters."""
    return re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)


def _sqlite_file(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None
