"""One acting reply: read the dialogue, then take, follow a plan, look something up, try, or give up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backbones.scripted.facts import Facts, Way, together
from backbones.scripted.memory import HEADING, Index, code_in, facts_in, index_in
from backbones.scripted.moving import distance, next_action, take
from backbones.scripted.planning import Book, Plan, Planner, moves
from backbones.scripted.reading import Event, State, seen_in, state_in, target_in
from backbones.scripted.shaping import Guess, guesses
from ocm.types import Message

_STEP = re.compile(r"after action (\d+) of (\d+)")
_LIMIT = re.compile(r"at most (\d+) actions")
_INSPECTED = re.compile(r"^Inspect\[(.*)\]\s*$", re.MULTILINE)
_CORRECTION = "That reply could not be used"
NAMES_PER_INSPECT = 6
WEIGHED = 48
"""Guesses whose cost is worked out."""


@dataclass(frozen=True)
class Scene:
    """An episode as its dialogue shows it."""

    target: str
    state: State
    steps_left: int
    steps_taken: int
    book: Book
    index: Index
    asked: frozenset[str]
    """Names that were inspected, found or not."""
    inspects_left: int
    """Before the next action."""
    refused: frozenset[str]
    """Actions that changed nothing, since something last changed."""


@dataclass(frozen=True)
class Move:
    """What to do, and the thought that goes with it."""

    thought: str
    text: str
    """An action, or an ``Inspect[...]``."""


def read_scene(messages: Sequence[Message]) -> Scene | None:
    """The episode so far; None where the text is not of an environment that these rules can play."""
    system, goal = messages[0].content, messages[1].content
    target, state = target_in(goal), state_in(goal)
    if not target or state is None:
        return None
    first = state
    events: list[Event] = []
    steps = 0
    asked: list[str] = []
    requests = since_action = 0
    recalled = [_shown(system)]
    last_said, barred = "", False
    for message in messages[2:]:
        text = message.content
        if message.role == "assistant":
            last_said = text
            continue
        barred = text.startswith(_CORRECTION)
        if barred:
            continue
        if step := _STEP.search(text):
            after = state_in(text)
            events.append(Event(last_said, state, after))
            state, steps, since_action = after or state, int(step[1]), 0
        elif names := _INSPECTED.search(last_said):
            asked += names[1].split(", ")
            requests, since_action = requests + 1, since_action + 1
            recalled.append(facts_in(text))
    seen = seen_in(first, events)
    index = index_in(system[system.find(HEADING) :]) if HEADING in system else Index()
    limit = _LIMIT.search(system)
    facts = Facts()
    for part in (*recalled, seen.facts):
        facts = together(facts, part)
    left = 0 if barred else min(index.per_step - since_action, index.per_episode - requests)
    steps_left = (int(limit[1]) if limit else 30) - steps
    return Scene(
        target,
        state,
        steps_left,
        steps,
        Book(facts, seen.barren),
        index,
        frozenset(asked),
        left,
        _refused(events),
    )


def _refused(events: Sequence[Event]) -> frozenset[str]:
    found = set()
    for event in reversed(events):
        if event.before and event.after and event.before.slots != event.after.slots:
            break
        found.add(event.action.rpartition("Action: ")[2].strip())
    return frozenset(found)


def _shown(system: str) -> Facts:
    """What the prompt itself tells, where all source is shown."""
    start = system.find(HEADING)
    return facts_in(system[start:]) if start >= 0 and code_in(system[start:]) else Facts()


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
    wanted = [name for item in missing for name in scene.index.about(item)]
    alike = [name for item in missing if not planner.ways(item) for name in scene.index.resembling(item)]
    names = dict.fromkeys([*wanted, *scene.index.on_smelting(), *alike])
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
    state = scene.state
    found = [
        guess._replace(weight=guess.weight * trust)
        for item, trust in planner.frontier(scene.target).items()
        for guess in guesses(item, scene.book, state.stock, planner.reachable, seed, WEIGHED)
    ]
    valued = sorted(found, key=lambda guess: -guess.weight / (1 + _cost(state, guess)))
    for guess in valued:
        plan = planner.plan(guess.way)
        if plan and moves(plan) <= scene.steps_left + 2 and (action := _first_action(scene, plan)):
            return Move(_hope(guess.way), action)
    return Move("Everything sensible was tried.", f"impossible: no way to {scene.target} was found")


def _cost(state: State, guess: Guess) -> int:
    if guess.way.smelted:
        return 1
    return distance(state, guess.way.pattern)


def _hope(way: Way) -> str:
    how = f"smelting {way.smelted}" if way.smelted else f"{way.pattern!r} in the grid"
    return f"Perhaps {how} gives {way.product}."
