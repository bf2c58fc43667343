"""Make the games of :mod:`envs.alfworld.own`: ``python -m envs.alfworld.make_games [FOLDER]``.

Rooms and tasks are :mod:`envs.alfworld.rooms`; what lies where is drawn from the game's id. What may lie
where, what can be heated and so on, and the goals are the package's own tables. Equal packages make equal
files (tested, and that each game can be won).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envs.alfworld.game import task_type
from envs.alfworld.rooms import LAMPS, ROOMS, TASKS, Task
from ocm.identity import generator

START = "loc_start"
_ALWAYS_NAMED = {"rtype": ("Fridge", "Microwave", "SinkBasin"), "otype": ("ButterKnife", "Knife")}
"""Types that the domain names, so that every problem has to know them."""


class _Receptacle(NamedTuple):
    id: str
    type: str
    place: str


class _Thing(NamedTuple):
    id: str
    type: str
    inside: _Receptacle


def game_id(task: Task) -> str:
    """In the benchmark's form: type, thing, no movable receptacle, target, room."""
    return f"{task.task_type}-{task.thing}-None-{task.target}-{task.room}"


def make_game(task: Task) -> str:
    """The content of a game's file."""
    draw = generator("alfworld own game", game_id(task))
    receptacles = list(_receptacles(task))
    things = list(_things(task, receptacles, draw))
    words = draw.choice(_goals()[task.task_type]["templates"]).format(
        obj=task.thing.lower(), recep=task.target.lower(), toggle=task.target.lower()
    )
    return f"task = \"{words}\"\nproblem = '''\n{_problem(task, receptacles, things)}\n'''\n"


def _receptacles(task: Task) -> Iterator[_Receptacle]:
    numbers: Counter[str] = Counter()
    for index, types in enumerate(ROOMS[task.room].places, start=1):
        for kind in types:
            numbers[kind] += 1
            # the engine names what it finds by id: a sinkbasin is `Sink_bar_1_bar_SinkBasin`
            stem = kind.removesuffix("Basin")
            tail = f"_bar_{kind}" if stem != kind else ""
            yield _Receptacle(f"{stem}_bar_{numbers[kind]}{tail}", kind, f"loc_bar_{index}")


def _things(task: Task, receptacles: Sequence[_Receptacle], draw: random.Random) -> Iterator[_Thing]:
    """The wanted things, not yet where they belong, what else lies about, and the lamp."""
    wanted = 2 if task.task_type == "pick_two_obj_and_place" else 1
    others = draw.sample([kind for kind in ROOMS[task.room].things if kind != task.thing], 5)
    numbers: Counter[str] = Counter()
    for kind in [task.thing] * wanted + others + others[:2]:
        holders = [
            one for one in receptacles if kind in _may_hold(one.type) and (kind, one.type) != task[1:3]
        ]
        numbers[kind] += 1
        yield _Thing(f"{kind}_bar_{numbers[kind]}", kind, draw.choice(holders))
    if task.target in LAMPS:
        stands = [one for one in receptacles if one.type == LAMPS[task.target]]
        yield _Thing(f"{task.target}_bar_1", task.target, stands[0])


def _problem(task: Task, receptacles: Sequence[_Receptacle], things: Sequence[_Thing]) -> str:
    lines = [
        f"(define (problem {game_id(task)})",
        "(:domain alfred)",
        "(:objects",
        *_objects(receptacles, things),
        ")",
        "(:init",
        f"(atLocation agent1 {START})",
        *_receptacle_facts(receptacles, things),
        *(fact for thing in things for fact in _thing_facts(thing)),
        ")",
        _goal(task),
        ")",
    ]
    return "\n".join(lines)


def _objects(receptacles: Sequence[_Receptacle], things: Sequence[_Thing]) -> Iterator[str]:
    yield f"agent1 - agent\n{START} - location"
    for place in sorted({one.place for one in receptacles}):
        yield f"{place} - location"
    for one in receptacles:
        yield f"{one.id} - receptacle"
    for thing in things:
        yield f"{thing.id} - object"
    found = {"rtype": {one.type for one in receptacles}, "otype": {thing.type for thing in things}}
    for kind, types in found.items():
        for name in sorted(types.union(_ALWAYS_NAMED[kind])):
            yield f"{name}Type - {kind}"


def _receptacle_facts(receptacles: Sequence[_Receptacle], things: Sequence[_Thing]) -> Iterator[str]:
    from alfworld.gen.constants import OPENABLE_CLASS_LIST

    for one in receptacles:
        yield f"(receptacleType {one.id} {one.type}Type)"
        yield f"(receptacleAtLocation {one.id} {one.place})"
        if one.type in OPENABLE_CLASS_LIST:
            yield f"(openable {one.id})"
    for holder in sorted({one.type for one in receptacles}):
        for kind in sorted({thing.type for thing in things}):
            if kind in _may_hold(holder):
                yield f"(canContain {holder}Type {kind}Type)"


def _thing_facts(thing: _Thing) -> Iterator[str]:
    from alfworld.gen.constants import MOVABLE_RECEPTACLES, VAL_ACTION_OBJECTS

    yield f"(objectType {thing.id} {thing.type}Type)"
    yield f"(inReceptacle {thing.id} {thing.inside.id})"
    yield f"(objectAtLocation {thing.id} {thing.inside.place})"
    if thing.type not in LAMPS:
        yield f"(pickupable {thing.id})"
    if thing.type in MOVABLE_RECEPTACLES:
        yield f"(isReceptacleObject {thing.id})"
    for ability, types in VAL_ACTION_OBJECTS.items():
        if thing.type in types:
            yield f"({ability.lower()} {thing.id})"


def _goal(task: Task) -> str:
    text = _goals()[task.task_type]["pddl"].format(obj=task.thing, recep=task.target, toggle=task.target)
    # the package writes the type's dash as #, and closes the problem's own parenthesis at the end
    return " ".join(text.replace("#", "-").split()).removesuffix(")").strip()


def _may_hold(receptacle: str) -> frozenset[str]:
    from alfworld.gen.constants import VAL_RECEPTACLE_OBJECTS

    return frozenset(VAL_RECEPTACLE_OBJECTS.get(receptacle, ()))


def _goals() -> Any:
    from alfworld.gen.goal_library import gdict

    return gdict


def main(folder: Path) -> None:
    """Write all games, and remove those that are no longer made; other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.toml"):
        if task_type(old.stem):
            old.unlink()
    for task in TASKS:
        (folder / f"{game_id(task)}.toml").write_text(make_game(task), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "games")
