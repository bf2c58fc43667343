"""Running the real ``ocm`` in processes of its own, as a person or a machine would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SMALL = """
name = "small"
methods = ["ocm", "react"]
backbones = ["scripted"]
seeds = [0, 1]

[[environments]]
name = "plancraft"
task_set = "val.small"
limit = {limit}
"""

EPISODES = 5
"""Per chain of the small sweep: four chains."""

CLEARED = ("PREFECT_API_URL", "RAY_ADDRESS", "OPENAI_API_KEY", "MLFLOW_TRACKING_URI")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """What ``--output json`` told, line by line."""
        return [json.loads(line) for line in self.out.splitlines()]


def start(*arguments: object, **environ: str) -> subprocess.Popen[str]:
    """Start ``ocm`` and return at once; what it starts is in its own session, to be killed alone."""
    kept = {name: value for name, value in os.environ.items() if name not in CLEARED}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**kept, **environ},
        start_new_session=True,
    )


def ocm(*arguments: object, timeout: float = 240.0, **environ: str) -> Ended:
    """Run ``ocm`` to its end."""
    process = start(*arguments, **environ)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Ended(process.returncode, out, err)


def write_spec(folder: Path, text: str) -> Path:
    """A spec file in a folder."""
    path = folder / "spec.toml"
    path.write_text(text, "utf-8")
    return path


def digest(root: Path, sweep: str = "small") -> str:
    """What ``ocm digest`` prints: equal for runs that saw and learned the same, byte for byte."""
    ended = ocm("digest", sweep, "--root", root)
    assert ended.code == 0, ended.err
    return ended.out
