"""Digests of what happened, without clocks: two runs are equal when their digests are."""

from __future__ import annotations

from dataclasses import asdict

from ocm.identity import canonical_json, sha256
from ocm.types import Trajectory


def trajectory_json(trajectory: Trajectory) -> str:
    """A trajectory as canonical JSON: task, observations, actions, validity, rewards, turns,
    inspections and end. It holds no time, token count or price."""
    fields = asdict(trajectory)
    for step in fields["steps"]:
        step["reward"] = float(step["reward"])  # 1 and 1.0 are one reward, but two texts
    return canonical_json(fields)


def trajectory_sha256(trajectory: Trajectory) -> str:
    """SHA-256 of :func:`trajectory_json`."""
    return sha256(trajectory_json(trajectory))
