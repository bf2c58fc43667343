"""One acting reply: read the dialogue, then take, follow a plan, look something up, try, or give up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from backbones.scripted.dialogue import Dialogue
from backbones.scripted.index import Index
from backbones.scripted.plancraft.examples import shown_in
from backbones.scripted.plancraft.facts import Way, together
from backbones.scripted.plancraft.memory import about, facts_in, on_smelting, resembling
from backbones.scripted.plancraft.moving import distance, next_action, take
from backbones.scripted.plancraft.planning import Book, Plan, Planner, moves
from backbones.scripted.plancraft.reading import Event, State, seen_in, state_in, target_in
from backbones.scripted.plancraft.sentences import stated_in
from backbones.scripted.plancraft.shaping import Guess, guesses
from backbones.scripted.player import Move

NAMES_PER_INSPECT = 6
WEIGHED = 32
"""Guesses whose cost is worked out."""


@dataclass(frozen=True)
class Scene:
    """An episode as its dialogue shows it."""

    target: str
    state: State
    steps_left: int
    book: Book
    index: Index
    asked: frozenset[str]
    """Names that were inspected, found or not."""
    inspects_left: int
    """Before the next action."""
    refused: frozenset[str]
    """Actions that changed nothing since something last changed, or that were not sent."""


def read_scene(dialogue: Dialogue) -> Scene | None:
    """The episode so far; None where the text shows no goal or no inventory."""
    target, first = target_in(dialogue.opening), state_in(dialogue.opening)
    if not target or first is None:
        return None
    state, events = first, []
    for exchange in dialogue.exchanges:
        after = state_in(exchange.observation)
        events.append(Event(exchange.said, state, after))
        state = after or state
    seen = seen_in(first, events)
    recalled = (
        *map(facts_in, (dialogue.known, *dialogue.shown)),
        *map(stated_in, (dialogue.known, dialogue.objections)),
        shown_in(dialogue.known),
    )
    return Scene(
        target=target,
        state=state,
        steps_left=dialogue.steps_left,
        book=Book(reduce(together, [*recalled, seen.facts]), seen.barren),
        index=dialogue.index,
        asked=dialogue.asked,
        inspects_left=dialogue.inspects_left,
        refused=_refused(events) | dialogue.held_back,
    )


def _refused(events: Sequence[Event]) -> frozenset[str]:
    found = set()
    for event in reversed(events):
        if event.before and event.after and event.before.slots != event.after.slots:
            break
        found.add(event.action.rpartition("Action: ")[2].strip())
    return frozenset(found)


def decide(scene: Scene, seed: int) -> Move:
    """The next turn of a scene. ``seed`` decides between equals, the same for the whole episode."""
    target, state = scene.target, scene.state
    if state.output and state.output.item == target:
        return Move(f"The grid gives {target}: take it into the inventory.", take(state))
    planner = Planner(scene.book, state.stock)
    plan = planner.best(target)
    if (plan is None or plan.trust < 1) and (names := _to_look_up(scene, planner)):
        return Move(f"My notes may say more about {target}.", f"Inspect[{', '.join(names)}]")
    if plan and (action := _first_action(scene, plan)):
        return Move(_reason(plan, target), action)
    if scene.steps_left <= 1:
        return Move(f"Nothing that I tried leads to {target}.", f"impossible: no way to {target} was found")
    return _explore(scene, planner, seed)


def _to_look_up(scene: Scene, planner: Planner) -> list[str]:
    if scene.inspects_left <= 0:
        return []
    missing = planner.missing(scene.target)
    wanted = [name for item in missing for name in about(scene.index, item)]
    alike = [name for item in missing if not planner.ways(item) for name in resembling(scene.index, item)]
    names = dict.fromkeys([*wanted, *on_smelting(scene.index), *alike])
    return [name for name in names if name not in scene.asked][:NAMES_PER_INSPECT]


def _first_action(scene: Scene, plan: Plan) -> str | None:
    """How a plan begins; None where that was just refused."""
    action = next_action(scene.state, plan.jobs[0])
    return None if action in scene.refused else action


def _reason(plan: Plan, target: str) -> str:
    job = plan.jobs[0]
    how = f"smelt {job.way.smelted}" if job.way.smelted else f"craft it as {job.way.pattern!r}"
    sure = "As I know" if job.way.trust == 1 else "By analogy"
    rest = f"; {len(plan.jobs) - 1} more to do for {target}" if len(plan.jobs) > 1 else ""
    return f"{sure}, for {job.way.product} I can {how}{rest}."


def _explore(scene: Scene, planner: Planner, seed: int) -> Move:
    """The try with the most promise per action."""
    for plan in tries(scene, planner, seed):
        if action := _first_action(scene, plan):
            return Move(_hope(plan.jobs[-1].way), action)
    return Move("Everything sensible was tried.", f"impossible: no way to {scene.target} was found")


def tries(scene: Scene, planner: Planner, seed: int) -> Iterator[Plan]:
    """What may be found out in the steps that are left, the most promise per action first."""
    state = scene.state
    found = [
        guess._replace(weight=guess.weight * trust)
        for item, trust in planner.frontier(scene.target).items()
        for guess in guesses(item, scene.book, state.stock, planner.reachable, seed, WEIGHED)
    ]
    for guess in sorted(found, key=lambda guess: -guess.weight / (1 + _cost(state, guess))):
        plan = planner.plan(guess.way)
        if plan and moves(plan) <= scene.steps_left + 2:
            yield plan


def thought_on(plan: Plan, target: str) -> str:
    """What is thought of a plan, be it known, assumed or a try."""
    return _reason(plan, target) if plan.trust > 0 else _hope(plan.jobs[-1].way)


def _cost(state: State, guess: Guess) -> int:
    if guess.way.smelted:
        return 1
    return distance(state, guess.way.pattern)


def _hope(way: Way) -> str:
    how = f"smelting {way.smelted}" if way.smelted else f"{way.pattern!r} in the grid"
    return f"Perhaps {how} gives {way.product}."
