"""Ray beside other child processes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from flows.ray_session import check_answers


def test_exit_codes_of_other_children_can_still_be_read(ray_session: None) -> None:
    """Ray ignores SIGCHLD when it is asked to end the children of its workers: every code read 0."""
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode == 7


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:999999"])
def test_a_dead_cluster_is_told_at_once(address: str) -> None:
    """Ray itself tries for minutes."""
    with pytest.raises((OSError, ValueError)):
        check_answers(address)
    check_answers("auto")


def test_a_request_to_end_is_still_ours(ray_session: None) -> None:
    """Ray took SIGTERM too: it aborted the process with a stack of C++."""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
