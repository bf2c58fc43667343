"""Deciding what the task leaves open: which thing is meant, and which condition holds.

What was right before is taken again, what was wrong is not; between equals the episode's seed decides.
"""

from __future__ import annotations

from backbones.scripted.player import Move
from backbones.scripted.scienceworld.doing import (
    act_on,
    bring,
    focus,
    found_here,
    measured,
    take,
)
from backbones.scripted.scienceworld.facts import CLAIMS, claim, wording
from backbones.scripted.scienceworld.goals import Branch
from backbones.scripted.scienceworld.observing import answer_of, focused, question_of
from backbones.scripted.scienceworld.reading import Thing
from backbones.scripted.scienceworld.scene import Scene
from backbones.scripted.scienceworld.seeking import approach, explore, look, reach

LAST_CALL = 25
"""Steps before the end at which a guess has to do."""


def choose(scene: Scene) -> Move | None:
    """Focusing on the next thing that is only described; None when all are done."""
    goal = scene.goal
    named = {wording(name) for name in goal.focuses}
    done = [deed for deed in focused(scene.world) if wording(deed.command.thing) not in named]
    wanted = len(goal.described) if not goal.stages else len(done) + 1
    if not (goal.described or goal.stages) or len(done) >= wanted:
        return None
    question = question_of(goal, len(done))
    taken = {deed.command.thing for deed in done}
    if goal.options:
        return _choose_option(scene, question)
    pool = [(room, thing) for room, thing in _candidates(scene) if thing.name not in taken]
    known = [one for one in pool if scene.facts.works(question, answer_of(goal, one[1].name))]
    best = max(known, key=lambda one: _hope(scene, question, one[1]), default=None)
    if best is None and scene.steps_left > LAST_CALL and (move := _search(scene, question)):
        return move
    best = best or max(pool, key=lambda one: _hope(scene, question, one[1]), default=None)
    return _focus_on(scene, best, question) if best else None


def _search(scene: Scene, question: str) -> Move | None:
    """More of the house, before guessing; where something was right before, there first."""
    places = scene.goal.places if not scene.goal.box else ()
    why = f"I look for the {question}."
    for place in places:
        if place not in scene.world.looks and (move := reach(scene, place, why)):
            return move
    if places and any(place in scene.world.looks for place in places):
        return None
    good = [thing for thing, tally in scene.facts.tried.get(question, {}).items() if tally.hope > 0.5]
    rooms = {room for thing in good for room in scene.facts.rooms_with(thing)} - scene.world.looks.keys()
    for room in sorted(rooms):
        if move := reach(scene, room, why):
            return move
    return look(scene) or explore(scene, why)


def _candidates(scene: Scene) -> list[tuple[str, Thing]]:
    """(room, thing) of all that may be meant."""
    goal, found = scene.goal, dict[str, tuple[str, Thing]]()
    rooms = [place for place in goal.places if place in scene.world.views] if not goal.box else []
    for room in rooms or sorted(scene.world.views):
        for thing in scene.world.views[room]:
            if _may_be_meant(scene, room, thing):
                found.setdefault(thing.name, (room, thing))
    if goal.box:
        found |= {name: (scene.world.room, thing) for name, thing in scene.world.held.items()}
    return list(found.values())


def _may_be_meant(scene: Scene, room: str, thing: Thing) -> bool:
    """Whether it has the owner's name where the task has one, and nothing with it failed so far."""
    verbs = ("focus on", "pick up") if scene.goal.box else ("focus on",)
    if any((room, f"{verb} {thing.name}") in scene.world.failed for verb in verbs):
        return False
    owner = set(wording(scene.goal.stages).split())
    return not owner or bool(owner & set(wording(thing.name).split()))


def _hope(scene: Scene, question: str, thing: Thing) -> tuple[float, int]:
    """The more, the likelier; a name that shares a word with the question counts, and what stands alone."""
    answer = answer_of(scene.goal, thing.name)
    alike = len(set(wording(thing.name).split()) & set(question.split()))
    fixed = scene.facts.refuses("pick up", thing.name)
    hope = scene.facts.tally(question, answer).hope + 0.2 * min(alike, 1) - 0.3 * fixed
    hope -= 0.1 * bool(thing.inside or thing.holds)
    return hope + 0.4 * (thing.name in scene.world.held), scene.rank(thing.name)


def _focus_on(scene: Scene, chosen: tuple[str, Thing], question: str) -> Move | None:
    room, thing = chosen
    if scene.goal.box and (move := take(scene, thing.name)):
        return move
    if room != scene.world.room and not scene.has(thing.name):
        return approach(scene, thing.name)
    sure = (
        "I know that it is" if scene.facts.works(question, answer_of(scene.goal, thing.name)) else "I guess"
    )
    return act_on(scene, "focus on", thing.name, (), f"{sure}: the {thing.name} is the {question}.")


def _choose_option(scene: Scene, question: str) -> Move | None:
    goal, tried = scene.goal, scene.facts.tally
    best = max(goal.options, key=lambda one: (tried(question, wording(one)).hope, scene.rank(one)))
    head = question.partition(" with ")[0]
    for wanted in (f"{head} {best}", best):
        if found_here(scene, wanted):
            return focus(scene, wanted)
    return approach(scene, f"{head} {best}")


def branch_of(scene: Scene) -> Branch | None:
    """The branch whose condition seems to hold."""
    goal = scene.goal
    if not goal.branches:
        return None
    degrees = measured(scene, goal.subject)
    if degrees is not None and not any(" point of " in branch.condition for branch in goal.branches):
        for branch in goal.branches:
            if branch.holds_at(degrees):
                return branch
    return max(goal.branches, key=lambda branch: (_trust(scene, branch), scene.rank(branch.condition)))


def _trust(scene: Scene, branch: Branch) -> float:
    """How far this condition was right before, and the others wrong."""
    goal = scene.goal

    def hope(one: Branch) -> float:
        return scene.facts.tally(CLAIMS, claim(one.condition, goal.subject)).hope

    others = [1 - hope(other) for other in goal.branches if other is not branch]
    return max((hope(branch), *others), key=lambda value: abs(value - 0.5))


def settle(scene: Scene) -> Move | None:
    """Doing what the branch that seems to hold asks for."""
    branch = branch_of(scene)
    if branch is None:
        return None
    if branch.verb == "focus":
        return focus(scene, branch.thing, scene.goal.places)
    return bring(scene, scene.goal.subject, branch.thing, scene.goal.places)


def deliver(scene: Scene) -> Move | None:
    """Bringing what was found to where the task wants it."""
    goal, done = scene.goal, [*focused(scene.world)]
    if not goal.box or not done:
        return None
    return bring(scene, done[-1].command.thing, goal.box, (goal.box_room,))
