"""What tests of several rooms share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_kill_child_processes_on_worker_exit_with_raylet_subreaper": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """One small Ray for the whole test session; a test that kills actors kills its own only."""
    os.environ.update(RAY_SETTINGS)
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 * 1024 * 1024,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    yield
    ray.shutdown()
