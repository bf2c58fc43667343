"""Every game of the data set is won by the walkthrough in its own file, and not before its last action.

``python -m tests.envs.alfworld_walkthroughs`` plays all of ``valid_unseen``. Walkthroughs are read here, and
only here.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from envs.alfworld import dataset
from envs.alfworld.environment import AlfworldEnvironment
from ocm.types import TaskRef, Validity
from tests.envs.alfworld_real import real_data


def is_won(environment: AlfworldEnvironment, task: TaskRef) -> bool:
    """Whether the walkthrough wins the game with its last action and every action is valid."""
    path = dataset.game_file(task.task_set, task.id, dataset.data_folder())
    assert path is not None
    environment.reset(task)
    *steps, last = [environment.step(action) for action in json.loads(path.read_bytes())["walkthrough"]]
    early = any(step.success or step.reward or step.done for step in steps)
    valid = all(step.validity is Validity.VALID for step in (*steps, last))
    return valid and not early and last.success and last.done and last.reward == 1


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        data = real_data(Path(folder))
        if data is None:
            print("the data set is not there; run: ocm data alfworld")
            return 2
        os.environ["ALFWORLD_DATA"] = str(data)
        started = time.monotonic()
        environment = AlfworldEnvironment()
        tasks = environment.tasks("valid_unseen")
        won = Counter(task.stratum for task in tasks if is_won(environment, task))
    print(f"{won.total()} of {len(tasks)} won in {time.monotonic() - started:.0f} s: {dict(won)}")
    return 0 if won.total() == len(tasks) else 1


if __name__ == "__main__":
    sys.exit(main())
