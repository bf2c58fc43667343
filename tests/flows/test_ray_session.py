"""Ray beside other child processes."""

from __future__ import annotations

import subprocess
import sys


def test_exit_codes_of_other_children_can_still_be_read(ray_session: None) -> None:
    """Ray ignores SIGCHLD when it is asked to end the children of its workers: every code read 0."""
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode == 7
