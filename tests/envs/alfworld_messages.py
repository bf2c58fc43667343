"""What the engine answers to many thousand actions, and whether the categories agree with the facts.

``python -m tests.envs.alfworld_messages [EPISODES]`` walks at random through games of our own and of the data
set where it is there, and prints every form of answer with its category and count. It fails where a category
is not what the engine's own facts say. ``--write`` keeps examples from our own games for the tests.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.validity import NOTHING, fits_a_template
from ocm.types import TaskRef, Validity
from tests.envs.alfworld_real import real_data
from tests.envs.alfworld_walks import Moved, wander

EXAMPLES = Path(__file__).with_name("alfworld_examples.jsonl")
_NAME = re.compile(r"\b[a-z]+ \d+\b")
_LIST = re.compile(r"(?<=you see ).*?(?=\.|$)|(?<=are carrying: ).*?(?=\.)")
_VERB = re.compile(r"go to|open|close|examine|use|take|move|heat|clean|cool|slice|look|inventory|help")


class Form(NamedTuple):
    """A kind of action with a kind of answer."""

    verb: str
    answer: str
    validity: Validity


def form(moved: Moved) -> Form:
    """The form of one action, names and lists left out."""
    verb = _VERB.match(moved.step.action.strip())
    first = moved.step.observation.split("\n")[0]
    answer = _NAME.sub("…", _LIST.sub("…", first))
    return Form(verb[0] if verb else "(other)", answer, moved.step.validity)


def located(environment: AlfworldEnvironment, moved: Moved) -> Mapping[str, bool]:
    """The receptacles at the agent's place before an action, by the engine's facts: name -> is open."""
    assert environment._engine is not None
    names = {key: info.name for key, info in environment._engine._world._entity_infos.items()}
    facts = {(fact.name, *(argument.name for argument in fact.arguments)) for fact in moved.before.facts}
    (place,) = (fact[2] for fact in facts if fact[0] == "atlocation")
    there = [fact[1] for fact in facts if fact[0] == "receptacleatlocation" and fact[2] == place]
    return {names[one]: ("opened", one) in facts for one in there}


def expected(environment: AlfworldEnvironment, moved: Moved) -> Validity:
    """The category by the facts alone."""
    command = moved.step.action.strip()
    if moved.step.observation != NOTHING:
        return moved.step.validity  # the facts are what it was made of
    if not fits_a_template(command):
        return Validity.MALFORMED
    here = located(environment, moved)
    openable = [one for one in here if {f"open {one}", f"close {one}"} & moved.before.commands]
    already = {
        *(f"go to {one}" for one in here),
        *(f"open {one}" for one in openable if here[one]),
        *(f"close {one}" for one in openable if not here[one]),
    }
    return Validity.NO_EFFECT if command in already else Validity.REFUSED


def check(environment: AlfworldEnvironment, moved: Moved) -> None:
    """Fail where the category or the language is not what it is said to be."""
    command, answer = moved.step.action.strip(), moved.step.observation
    assert (answer == NOTHING) == (command not in moved.before.commands), (command, answer)
    assert all(map(fits_a_template, moved.before.commands)), moved.before.commands
    assert moved.step.validity is expected(environment, moved), (command, answer, moved.step.validity)


def record(
    environment: AlfworldEnvironment, tasks: Iterable[TaskRef], draw: random.Random
) -> Iterator[Moved]:
    """Walk through the tasks, each action checked."""
    for task in tasks:
        for moved in wander(environment, task, draw):
            check(environment, moved)
            yield moved


def examples(moves: Iterable[Moved], each: int = 2) -> list[dict[str, object]]:
    """Some of every form, as the arguments and the value of ``validity``."""
    kept: Counter[Form] = Counter()
    found = []
    for moved in moves:
        before, step, changed = moved
        kind = form(moved)._replace(answer=str(step.observation == NOTHING))
        kept[kind] += 1
        if kept[kind] <= each and len(step.action) <= 200:
            found.append(
                {
                    "action": step.action,
                    "observation": step.observation,
                    "before": sorted(before.commands),
                    "receptacles": sorted(before.receptacles),
                    "changed": changed,
                    "validity": str(step.validity),
                }
            )
    return found


def main(episodes: int, write: bool) -> None:
    environment = AlfworldEnvironment()
    draw = random.Random(0)
    tasks = list(environment.tasks("own"))
    if write:
        found = examples(record(environment, tasks * 6, draw))
        lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in found]
        EXAMPLES.write_text("".join(lines), "utf-8")
        return
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        data = real_data(Path(folder))
        if data is not None:
            patch.setenv("ALFWORLD_DATA", str(data))
            tasks += environment.tasks("valid_unseen")
        forms = Counter(map(form, record(environment, draw.choices(tasks, k=episodes), draw)))
    for kind, count in sorted(forms.items()):
        print(f"{count:6} {kind.validity:<9} {kind.verb:<9} {kind.answer[:90]}")
    print(f"{forms.total()} actions in {episodes} episodes; all categories are what the facts say")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    main(numbers[0] if numbers else 200, "--write" in sys.argv)
