"""What tests of several rooms share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """One small Ray for the whole test session; a test that kills actors kills its own only."""
    from flows.ray_session import ray_session as session

    with session():
        yield
