"""The same walks several times: every text, command and outcome must be equal, byte for byte.

``python -m tests.envs.alfworld_replay [GAMES]`` walks at random through 100 games of ``valid_unseen`` (or
as many), thirty steps each: in one process, in a fresh process with another hash seed and another order of
games, and some of them in a fresh process without :mod:`envs.alfworld.patches`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from envs.alfworld.environment import AlfworldEnvironment
from ocm.identity import sha256
from ocm.types import TaskRef
from tests.envs.alfworld_real import real_data
from tests.envs.alfworld_walks import wander

STEPS = 30


def walk(environment: AlfworldEnvironment, task: TaskRef, steps: int = STEPS) -> str:
    """The digest of one seeded walk: texts, commands, outcomes.

    Actions follow from the answers before them, so one different answer changes all that comes after.
    """
    first = environment.reset(task)
    moves = [
        [
            *(sorted(one.before.commands), one.step.action, one.step.observation),
            *(one.step.validity, one.step.success),
        ]
        for one in wander(environment, task, random.Random(task.id), steps)
    ]
    return sha256(json.dumps([first.goal, first.text, *moves]))


def walks(tasks: Sequence[TaskRef], steps: int = STEPS, patched: bool = True) -> Mapping[str, str]:
    """Digests by task, one after another on one engine.

    Args:
        tasks: in this order.
        steps: actions per walk.
        patched: False in a fresh process only.
    """
    if not patched:
        from envs.alfworld.engine import Engine, give_back

        give_back(Engine(patched=False))
    environment = AlfworldEnvironment()
    try:
        return {task.id: walk(environment, task, steps) for task in tasks}
    finally:
        environment.close()


def elsewhere(
    tasks: Sequence[TaskRef], steps: int = STEPS, patched: bool = True, hash_seed: int = 7
) -> Mapping[str, str]:
    """As :func:`walks`, in a fresh process."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = str(hash_seed)
    try:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(walks, (tasks, steps, patched))
    finally:
        del os.environ["PYTHONHASHSEED"]
        if before is not None:
            os.environ["PYTHONHASHSEED"] = before


def main(games: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        data = real_data(Path(folder))
        if data is None:
            print("the data set is not there; run: ocm data alfworld")
            return 2
        os.environ["ALFWORLD_DATA"] = str(data)
        draw = random.Random(0)
        tasks = draw.sample(AlfworldEnvironment().tasks("valid_unseen"), games)
        started = time.monotonic()
        first = walks(tasks)
        second = elsewhere(draw.sample(tasks, len(tasks)))
        bare = elsewhere(tasks[: games // 10], patched=False)
    different = {one for other in (second, bare) for one in other if other[one] != first[one]}
    seconds = time.monotonic() - started
    print(f"{len(second)} walks again, {len(bare)} of them unpatched, in {seconds:.0f} s: ", end="")
    print(f"{len(different)} different")
    print("\n".join(sorted(different)))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
