"""The same actions twice: every answer must be equal, byte for byte.

``python -m tests.envs.scienceworld_replay`` walks at random through 100 tasks, thirty steps each, twice:
the second time in another order of tasks and in a fresh JVM.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable, Mapping

from envs.scienceworld.environment import ScienceworldEnvironment
from ocm.identity import sha256
from ocm.types import TaskRef
from tests.envs.scienceworld_messages import wander


def walk(environment: ScienceworldEnvironment, task: TaskRef, seed: int, steps: int) -> str:
    """The digest of one seeded random walk: first observation, actions and answers.

    Actions follow from the answers before them, so one different answer changes all that comes after.
    """
    first = environment.reset(task)
    draw = random.Random(f"{seed} {task.id}")
    return sha256(json.dumps([first.goal, first.text, *wander(environment, task, draw, steps)]))


def walks(tasks: Iterable[TaskRef], seed: int, steps: int) -> Mapping[str, str]:
    """Digests by task, all from one new JVM."""
    environment = ScienceworldEnvironment()
    try:
        return {task.id: walk(environment, task, seed, steps) for task in tasks}
    finally:
        environment.close()


def main() -> int:
    started = time.monotonic()
    draw = random.Random(0)
    tasks = draw.sample(ScienceworldEnvironment().tasks("test.first5"), 100)
    first = walks(tasks, seed=0, steps=30)
    second = walks(draw.sample(tasks, len(tasks)), seed=0, steps=30)
    different = [task for task in first if first[task] != second[task]]
    print(f"{len(tasks)} walks twice in {time.monotonic() - started:.0f} s; different: {len(different)}")
    print("\n".join(different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
