"""Where tests and checks find ALFWorld's package and its data set, if they are on this machine."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from envs.alfworld import dataset
from envs.alfworld.archive import take

ARCHIVE = "OCM_TEST_ALFWORLD_ARCHIVE"
"""Names an archive of the data set, for tests only."""

needs_alfworld = pytest.mark.skipif(
    find_spec("alfworld") is None, reason="ALFWorld is not installed: pip install 'ocm-at-scale[alfworld]'"
)


def real_data(folder: Path) -> Path | None:
    """The data set: from the archive, unpacked into ``folder``, or as it is installed; None: neither."""
    archive = os.environ.get(ARCHIVE)
    if archive:
        take(Path(archive), folder / "alfworld")
        return folder / "alfworld"
    installed = dataset.data_folder()
    return installed if (installed / dataset.LAYOUT / "valid_unseen").is_dir() else None
