"""Records the episodes that ``test_scripted_scienceworld_reading`` reads: ``python -m`` this module.

They are of the training tasks, played by the stand-in itself without a memory.
"""

from __future__ import annotations

import json

from envs.scienceworld.environment import ScienceworldEnvironment
from tests.scripted.scienceworld_texts import RECORDED
from tests.scripted.texts import play_tasks

TASKS = ("use-thermometer", "chemistry-mix-paint-secondary-color", "freeze", "power-component", "grow-plant")


def main() -> None:
    environment = ScienceworldEnvironment()
    first = {task.stratum: task for task in reversed(environment.tasks("train.first5"))}
    episodes, _ = play_tasks(environment, [first[name] for name in TASKS], "react")
    environment.close()
    lines = []
    for one in (episode.trajectory for episode in episodes):
        steps = [[step.action, step.observation, step.validity] for step in one.steps[:50]]
        lines.append({"task": one.task.id, "goal": one.goal, "first": one.first_observation, "steps": steps})
    RECORDED.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
