"""What the simulator says: thousands of diverse actions over all 30 tasks, and the forms of the answers.

``python -m tests.envs.scienceworld_messages`` plays and counts; an answer of no known form is listed, and
is an error. With ``--write`` it also writes ``scienceworld_answers.jsonl``, a sample of every form, which
the tests of validity read: look through it before it is committed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from envs.scienceworld.actions import NOT_UNDERSTOOD, Template, templates
from envs.scienceworld.environment import ScienceworldEnvironment
from envs.scienceworld.settings import ScienceworldSettings
from envs.scienceworld.validity import FORMS, expression, form
from ocm.types import TaskRef, Validity

ANSWERS = Path(__file__).with_name("scienceworld_answers.jsonl")
ROOMS = (
    *("kitchen", "hallway", "workshop", "greenhouse", "bathroom"),
    *("bedroom", "outside", "foundry", "art studio", "living room"),
)
NONSENSE = (
    "",
    "foo bar",
    "the",
    "open",
    "look carefully",
    "focus",
    "I open the door.",
    "go",
    "move cup",
    "pour water",
    "wait 5",
    "xyzzy plugh",
    '"look around"',
    "look around.",
    "answer: 3",
    "0",
    "connect wire",
    "look around; wait",
    "é",
    "reset the task",
)
DESCRIBING = re.compile(r"(?:look|examine|read|objects)\b")
"""Actions whose answers describe things, in words of the things' own."""


class Answered(NamedTuple):
    """One action and its answer."""

    simplifications: tuple[str, ...]
    action: str
    meaning: str
    """The action itself, or the choice that a number stands for."""
    observation: str
    validity: Validity

    @property
    def known(self) -> bool:
        """Whether the answer's form is one that we know."""
        return (
            self.observation == NOT_UNDERSTOOD
            or form(self.observation) is not None
            or bool(DESCRIBING.match(self.meaning))
        )


def shape(answered: Answered) -> str:
    """The form of an answer, as a key for counting."""
    if answered.observation == NOT_UNDERSTOOD:
        return f"{answered.validity}: {NOT_UNDERSTOOD}"
    for forms in FORMS.values():
        for one in forms:
            if re.match(_PREFIX + expression(one) + r"\s*\Z", answered.observation):
                return one
    return "a description" if answered.known else f"UNKNOWN {answered.observation[:200]!r}"


_PREFIX = r"(?:\(disconnecting .+?\)\s*)*"


def wander(
    environment: ScienceworldEnvironment, task: TaskRef, draw: random.Random, steps: int
) -> Iterator[Answered]:
    """Play one episode of random actions; it ends after ``steps`` or when the simulator ends it."""
    environment.reset(task)
    simplifications = environment._names
    known = templates(simplifications)
    things: list[str] = []
    menu: list[str] = []
    for number in range(steps):
        if number % 8 == 0:
            action = "objects"
        elif menu and draw.random() < 0.8:
            action = str(draw.randrange(len(menu)))
        else:
            action = _action(known, things, draw)
        meaning = menu[int(action)] if menu and action.isdigit() and int(action) < len(menu) else action
        step = environment.step(action)
        yield Answered(simplifications, action, meaning, step.observation, step.validity)
        if step.done:
            return
        menu = re.findall(r"^\d+:\t(.*)$", step.observation, re.MULTILINE)
        if action == "objects":
            things = step.observation.split("\n\t")[1:]


def _action(known: Sequence[Template], things: list[str], draw: random.Random) -> str:
    kind = draw.random()
    room = draw.choice(ROOMS)
    if kind < 0.03:
        return draw.choice(NONSENSE)
    if kind < 0.25:
        verb = draw.choice(("go to", "go", "open door to", "open door to", "teleport to", "open"))
        return f"{verb} {room if verb != 'open' else _thing(things, draw)}"
    if kind < 0.28:
        return draw.choice(("use lighter on", "use axe on", "use shovel on", "use thermometer on", "eat")) + (
            f" {_thing(things, draw)}"
        )
    template = draw.choice(known)
    verb = draw.choice(template.verbs)
    if verb.startswith("focus") and draw.random() < 0.9:  # it mostly ends the episode
        verb = "pick up"
    count = template.things if verb != "pick up" else 1
    link = f" {draw.choice(template.links)} " if template.links and count == 2 else ""
    return " ".join([verb, link.join(_thing(things, draw) for _ in range(count))]).strip()


def _thing(things: list[str], draw: random.Random) -> str:
    if not things or draw.random() < 0.05:
        return draw.choice(("moon", "agent", "inventory", *ROOMS))
    return draw.choice(things)


def record(
    simplifications: list[str], tasks_each: int, steps: int, seed: int, names: int = 30
) -> Iterator[Answered]:
    """``tasks_each`` variations of ``names`` tasks, one random episode each."""
    draw = random.Random(f"{seed} {simplifications}")
    environment = ScienceworldEnvironment(ScienceworldSettings(simplifications=simplifications))
    environment.step_limit = steps + 1
    by_name: dict[str, list[TaskRef]] = defaultdict(list)
    for task in environment.tasks("train"):
        by_name[task.stratum].append(task)
    try:
        for group in draw.sample(list(by_name.values()), names):
            for task in draw.sample(group, tasks_each):
                yield from wander(environment, task, draw, steps)
    finally:
        environment.close()


def write(answers: Iterable[Answered], draw: random.Random, each: int) -> None:
    """A sample of every form, short answers only, sorted by form; more of what was not understood, since
    there the action decides."""
    by_shape: dict[str, list[Answered]] = defaultdict(list)
    for one in dict.fromkeys(answers):
        if len(one.observation) < 700:
            by_shape[f"{one.validity} {shape(one)}"].append(one)
    rows = [
        [list(one.simplifications), one.action, one.observation, str(one.validity)]
        for key in sorted(by_shape)
        for one in _sample(by_shape[key], each * (6 if NOT_UNDERSTOOD in key else 1), draw)
    ]
    ANSWERS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def _sample(answers: list[Answered], count: int, draw: random.Random) -> list[Answered]:
    return draw.sample(answers, min(count, len(answers)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks-each", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    answers: list[Answered] = []
    for simplifications in ([], ["easy"]):
        answers += record(simplifications, options.tasks_each, options.steps, options.seed)
    for key, count in Counter(f"{one.validity:10} {shape(one)}" for one in answers).most_common():
        print(f"{count:6} {key}")
    unknown = [one for one in answers if not one.known]
    print(f"{len(answers)} answers in {time.monotonic() - started:.0f} s; of unknown form: {len(unknown)}")
    if options.write:
        write(answers, random.Random(options.seed), each=4)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
