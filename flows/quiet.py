"""Environment of a process that runs flows: services that say little and call nobody.

Set before Prefect, MLflow or Ray are imported, since they read it then.
"""

from __future__ import annotations

import logging
import os

QUIET = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    # How a chain or the sweep ended is told by us; Prefect would add a traceback for each failed chain.
    "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "CRITICAL",
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def quiet_services() -> None:
    """Apply :data:`QUIET` where the user has not decided otherwise."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # A Prefect server that dies or is slow breaks a connection, which Prefect opens again.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
