"""Many episodes on one engine: memory, temporary files, seconds.

``python -m tests.envs.alfworld_endurance [EPISODES]`` plays our own games and, where it is there, those of
the data set, and prints the memory after 50, 250 and 500 episodes and what is left in the temporary folder.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from envs.alfworld.environment import AlfworldEnvironment
from ocm.types import TaskRef
from tests.envs.alfworld_real import real_data
from tests.envs.alfworld_walks import wander

WATCHED = (1, 50, 100, 250, 500)


class Measured(NamedTuple):
    """After some episodes."""

    episodes: int
    memory_mb: float
    open_files: int
    temporary: int
    """Entries in the temporary folder, at any depth, that are files."""


def endure(tasks: Sequence[TaskRef], episodes: int, steps: int, temporary: Path) -> Iterator[Measured]:
    """Play, and measure after each episode."""
    environment = AlfworldEnvironment()
    draw = random.Random(0)
    process = psutil.Process()
    for episode in range(1, episodes + 1):
        for _ in wander(environment, draw.choice(tasks), draw, steps):
            pass
        yield Measured(
            episode,
            process.memory_info().rss / 2**20,
            process.num_fds(),
            sum(path.is_file() for path in temporary.rglob("*")),
        )
    environment.close()


def main(episodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        tempfile.tempdir = scratch
        tasks = list(AlfworldEnvironment().tasks("own"))
        data = real_data(Path(folder))
        if data is not None:
            os.environ["ALFWORLD_DATA"] = str(data)
            tasks += AlfworldEnvironment().tasks("valid_unseen")
        started, used = time.monotonic(), time.process_time()
        for one in endure(tasks, episodes, 10, Path(scratch)):
            if one.episodes in WATCHED:
                print(
                    f"{one.episodes:4} episodes: {one.memory_mb:.0f} MB, {one.open_files} open files, "
                    f"{one.temporary} temporary files",
                    flush=True,
                )
        seconds, cpu = time.monotonic() - started, time.process_time() - used
        print(f"{len(tasks)} games; {seconds:.0f} s, {cpu:.0f} s of CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
