"""What is removed from the machine's temporary folder: what killed processes left there, and nothing else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from envs.alfworld import engine


def test_what_others_call_by_a_like_name_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data set that ``ocm data alfworld --to /tmp/ocm-alfworld-data`` had put there was removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = tmp_path / "ocm-alfworld-data"
    data.mkdir()
    for name in ("file", "link"):
        path = tmp_path / f"{engine._PREFIX}{name}"
        path.symlink_to(data) if name == "link" else path.touch()
        os.utime(path, (0, 0), follow_symlinks=False)
    os.utime(data, (0, 0))
    before = sorted(tmp_path.iterdir())
    with engine._scratch():
        pass
    assert sorted(tmp_path.iterdir()) == before
