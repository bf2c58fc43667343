"""ALFWorld's prompts as the agents write them, and games for whole chains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agents.ocm.plan import read_plan
from agents.prompts import SHARED, fill
from backbones.scripted.client import reply_to
from envs.alfworld import dataset, package
from envs.alfworld.make_games import game_id, make_game
from envs.alfworld.rooms import ROOMS, Task
from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from ocm.identity import generator
from ocm.types import Files, Message, Request
from tests.scripted.texts import OCM_PROMPTS, memory_text, request

ROOM = "You are in the middle of a room. Looking quickly around you, you see "
PARTS = {"both": "objects", "objects": "objects", "procedures": "alone"}


def room(*places: str) -> str:
    """o0; the names here and below are no game's."""
    listed = ", ".join(f"a {place}" for place in places[:-1])
    return f"{ROOM}{listed}, and a {places[-1]}."


def acting(goal: str, *places: str, memory: Files | None = None, full: bool = False) -> list[Message]:
    """The first messages of an episode."""
    text = memory_text(memory, full) if memory else ""
    system = fill(
        SHARED, "act_system", step_limit=50, rules="Rules.", reply=fill(SHARED, "act_reply"), memory=text
    )
    opening = fill(SHARED, "act_goal", goal=goal, observation=room(*places))
    return [Message("system", system), Message("user", opening)]


def episode(first: str, *steps: tuple[str, str]) -> str:
    """A finished episode as a learning prompt shows it; a step is (action, observation)."""
    entries = [f"[0] {first}"]
    for number, (action, observation) in enumerate(steps, start=1):
        outcome = "invalid: refused" if observation == "Nothing happens." else "valid"
        entries.append(
            f"[{number}] thought: Well.\n    action: {action}\n    outcome: {outcome}\n{observation}"
        )
    return "\n".join(entries)


def texts(goal: str, memory: Files, trajectory: str) -> dict[str, str]:
    return {
        "goal": goal,
        "outcome": "Success. Reward 1",
        "trajectory": trajectory,
        "knowledge": level0(memory).text if memory else "Nothing yet.",
    }


def reflecting(goal: str, trajectory: str, memory: Files, parts: str = "both") -> Request:
    system = fill(OCM_PROMPTS, "reflect_system", parts=fill(OCM_PROMPTS, f"parts_{parts}"))
    user = fill(OCM_PROMPTS, "reflect_user", **texts(goal, memory, trajectory))
    return request([Message("system", system), Message("user", user)], "reflect")


def updating(
    goal: str, trajectory: str, memory: Files, parts: str = "both", *, is_shown: bool = True
) -> list[Message]:
    """An update prompt; ``is_shown`` as False leaves out the source that the plan asked for."""
    plan = read_plan(json.loads(reply_to(reflecting(goal, trajectory, memory, parts), 0.0)))
    system = fill(
        OCM_PROMPTS,
        "update_system",
        parts=fill(OCM_PROMPTS, f"parts_{parts}"),
        procedure_rule=fill(OCM_PROMPTS, f"procedure_rule_{PARTS[parts]}"),
        modules="re",
    )
    names = plan.names_to_read()
    source = resolve(memory, names, 24_000).text if memory and names and is_shown else "None."
    user = fill(
        OCM_PROMPTS, "update_user", plan=plan.to_json(), source=source, **texts(goal, memory, trajectory)
    )
    return [Message("system", system), Message("user", user)]


def write_games(data: Path, count: int) -> None:
    """Winnable games of all kinds in our own rooms, in the data set's layout as the task set ``train``."""
    for number, task in enumerate(_tasks(count)):
        folder = data / dataset.LAYOUT / "train" / game_id(task) / f"trial_{number}"
        folder.mkdir(parents=True)
        words, _, problem = make_game(task).partition("\nproblem = '''\n")
        game = {
            "pddl_domain": package.domain(),
            "grammar": package.grammar().replace("UNKNOWN GOAL", words.split('"')[1]),
            "pddl_problem": problem.removesuffix("'''\n"),
            "solvable": True,
        }
        (folder / "game.tw-pddl").write_text(json.dumps(game), "utf-8")


def _tasks(count: int) -> Iterator[Task]:
    """As many of each type of task as of any other."""
    draw = generator("scripted alfworld games")
    kinds: dict[str, list[Task]] = {}
    for task in _possible():
        kinds.setdefault(task.task_type, []).append(task)
    for tasks in kinds.values():
        draw.shuffle(tasks)
        yield from tasks[: count // len(kinds)]


def _possible() -> Iterator[Task]:
    """What can be asked for in our rooms, by the package's own tables."""
    from alfworld.gen.constants import VAL_ACTION_OBJECTS, VAL_RECEPTACLE_OBJECTS

    able = {
        "pick_heat_then_place_in_recep": VAL_ACTION_OBJECTS["Heatable"],
        "pick_cool_then_place_in_recep": VAL_ACTION_OBJECTS["Coolable"],
        "pick_clean_then_place_in_recep": VAL_ACTION_OBJECTS["Cleanable"],
    }
    lamps = {"bedroom": "DeskLamp", "livingroom": "FloorLamp"}
    for name, made in ROOMS.items():
        places = sorted({kind for place in made.places for kind in place})
        for thing in made.things:
            if name in lamps:
                yield Task("look_at_obj_in_light", thing, lamps[name], name)
            for target in (place for place in places if thing in VAL_RECEPTACLE_OBJECTS.get(place, ())):
                yield Task("pick_and_place_simple", thing, target, name)
                yield Task("pick_two_obj_and_place", thing, target, name)
                if name == "kitchen":
                    yield from (Task(kind, thing, target, name) for kind in able if thing in able[kind])
