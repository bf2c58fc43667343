"""One small sweep, played once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import EPISODES, SMALL, Ended, ocm, write_spec


@pytest.fixture(scope="session")
def small_sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """The storage root and how the run ended."""
    folder = tmp_path_factory.mktemp("small")
    ended = ocm(
        "run", write_spec(folder, SMALL.format(limit=EPISODES)), "--root", folder / "runs", "--output", "json"
    )
    return folder / "runs", ended
