"""One acting reply: read the dialogue, then take, follow a plan, look something up, try, or give up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from backbones.scripted.facts import Facts, Way, together
from backbones.scripted.memory import HEADING, Index, facts_in, index_in
from backbones.scripted.moving import distance, next_action, take
from backbones.scripted.planning import Book, Plan, Planner, moves
from backbones.scripted.reading import Event, State, seen_in, state_in, target_in
from backbones.scripted.shaping import Guess, guesses
from ocm.types import Message

_STEP = re.compile(r"Observation \(after action (\d+) of \d+\)")
_LIMIT = re.compile(r"at most (\d+) actions")
_INSPECTED = re.compile(r"^Inspect\[(.*)\]\s*$", re.MULTILINE)
_CORRECTION = "That reply could not be used"
NAMES_PER_INSPECT = 6
USUAL_LIMIT = 30
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
    """Actions that changed nothing, since something last changed."""


@dataclass(frozen=True)
class Move:
    """What to do, and the thought that goes with it."""

    thought: str
    text: str
    """An action, or an ``Inspect[...]``."""


@dataclass
class _Dialogue:
    """What the messages after the goal say; :meth:`hear` takes them one by one."""

    state: State
    events: list[Event] = field(default_factory=list)
    recalled: list[Facts] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    steps: int = 0
    requests: int = 0
    requests_since_action: int = 0
    is_corrected: bool = False
    said: str = ""

    def hear(self, message: Message) -> None:
        text = message.content
        if message.role == "assistant":
            self.said = text
            return
        self.is_corrected = text.startswith(_CORRECTION)
        if self.is_corrected:
            return
        if step := _STEP.match(text):
            after = state_in(text)
            self.events.append(Event(self.said, self.state, after))
            self.state, self.steps, self.requests_since_action = after or self.state, int(step[1]), 0
        elif names := _INSPECTED.search(self.said):
            self.asked += names[1].split(", ")
            self.requests, self.requests_since_action = self.requests + 1, self.requests_since_action + 1
            self.recalled.append(facts_in(text))


def read_scene(messages: Sequence[Message]) -> Scene | None:
    """The episode so far; None where the text is not of an environment that these rules can play."""
    system, goal = messages[0].content, messages[1].content
    target, first = target_in(goal), state_in(goal)
    if not target or first is None:
        return None
    known = system[system.find(HEADING) :] if HEADING in system else ""
    index = index_in(known)
    heard = _Dialogue(first, recalled=[facts_in(known)])
    for message in messages[2:]:
        heard.hear(message)
    seen = seen_in(first, heard.events)
    limit = _LIMIT.search(system)
    left = min(index.per_step - heard.requests_since_action, index.per_episode - heard.requests)
    return Scene(
        target=target,
        state=heard.state,
        steps_left=(int(limit[1]) if limit else USUAL_LIMIT) - heard.steps,
        book=Book(reduce(together, [*heard.recalled, seen.facts]), seen.barren),
        index=index,
        asked=frozenset(heard.asked),
        inspects_left=0 if heard.is_corrected else left,
        refused=_refused(heard.events),
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
