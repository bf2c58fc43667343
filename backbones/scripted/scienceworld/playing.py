"""One acting reply: answer a menu, look something up, do what the task says, guess, or try things."""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.changing import change
from backbones.scripted.scienceworld.doing import focus, literally, measure, take
from backbones.scripted.scienceworld.facts import REFER
from backbones.scripted.scienceworld.judging import choose, deliver, settle
from backbones.scripted.scienceworld.memory import to_read
from backbones.scripted.scienceworld.mixing import make
from backbones.scripted.scienceworld.scene import Scene, names_of
from backbones.scripted.scienceworld.seeking import explore, look
from backbones.scripted.scienceworld.wiring import power

NAMES_PER_INSPECT = 8
TRIES = 12
"""Refusals in an episode that curiosity is worth."""
REPEATS = 4
WALKS = 12
WAITS = 12


def decide(scene: Scene) -> Move:
    """The next turn of a scene."""
    if scene.world.options:
        return _answer(scene)
    if names := _to_look_up(scene):
        return Move("My notes may help.", f"Inspect[{', '.join(names)}]")
    return next(_moves(scene), Move("I am at a loss, so I look around.", "look around"))


def _moves(scene: Scene) -> Iterator[Move]:
    """What may be done, in the order in which the task asks for it."""
    steps = (_named, change, power, settle, choose, deliver, _curious)
    for step in steps:
        move = step(scene)
        if move and scene.world.count(move.text) < _often(move.text):
            yield move


def _often(action: str) -> int:
    """How often an action may be taken in an episode: a walk to and fro has an end."""
    if action == "wait":
        return WAITS
    return WALKS if action.startswith(("go ", "look around")) else REPEATS


def _answer(scene: Scene) -> Move:
    """The number of a choice: one that was not taken before."""
    options = scene.world.options
    numbers = sorted(range(len(options)), key=lambda number: (options[number] in scene.world.done, number))
    return Move("The menu wants a number.", str(numbers[0]))


def _to_look_up(scene: Scene) -> list[str]:
    if scene.inspects_left <= 0:
        return []
    return [name for name in to_read(scene.index) if name not in scene.asked][:NAMES_PER_INSPECT]


def _named(scene: Scene) -> Move | None:
    """What the task names: to make it, to come by it, to focus on it, to measure it."""
    goal = scene.goal
    if move := make(scene):
        return move
    for name in goal.focuses:
        portable = goal.verb == "measure" or (goal.branches and name == goal.subject)
        if portable and (move := take(scene, name, goal.places)):
            return move
        if move := focus(scene, name, goal.places):
            return move
    if move := literally(scene):
        return move
    if goal.verb == "measure" and goal.focuses:
        return measure(scene, goal.focuses[0].lower(), goal.subject, goal.places)
    return None


def _curious(scene: Scene) -> Move | None:
    """Trying what was never tried, in this room and on."""
    if move := look(scene):
        return move
    refusals = sum(not deed.worked for deed in scene.world.deeds)
    if refusals < TRIES:
        clear = (name for name in names_of(scene.here) if not scene.facts.refuses(REFER, name))
        for name in sorted(clear, key=scene.rank):
            for verb in ("activate", "look in"):
                action, known = f"{verb} {name}", scene.facts.tally(verb, name)
                if known == (0, 0) and scene.can(action) and not scene.did(action):
                    return Move(f"What happens if I {verb} the {name}?", action)
    return explore(scene, "There is more to see.") or Move("I let some time pass.", "wait")
