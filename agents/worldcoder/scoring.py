"""Programs asked in the sandbox: how well they explain what was seen, and what they foresee.

Everything that comes back may be forged by the program, and is checked like a reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.buffer import Played, cut
from agents.execution import Ran, run
from agents.prompts import fill
from agents.protocol import Bench
from agents.worldcoder import harness
from agents.worldcoder.harness import EXPLAINED, PARTLY, RAISED, WRONG
from agents.worldcoder.sampling import Key, so_far
from ocm.types import Exchange, Observation

PATH = "world_model.py"
PROMPTS = "agents.worldcoder.prompts"
DATA_CHARS = 120_000
"""Characters of the episodes in one execution; more are scored in several."""
CASES = 1_000
"""Transitions in one execution: each prints a letter."""
EFFORT = 2_000
"""Predictions of one search for a plan."""
MOST_GAIN = 1e9
"""A greater predicted return is none: a forged integer may be too large for a float."""
_POINTS = {EXPLAINED: 1.0, PARTLY: 0.5, WRONG: 0.0, RAISED: 0.0}


@dataclass(frozen=True, slots=True)
class Score:
    """How a program fares on a sample of transitions."""

    letters: Mapping[Key, str]
    """Transition -> one of the harness's letters."""
    problem: str = ""
    """Why the program could not be executed to the end; then nothing is explained."""

    @property
    def value(self) -> float:
        """Mean over the transitions, in [0, 1]."""
        return sum(map(_POINTS.__getitem__, self.letters.values())) / max(1, len(self.letters))

    @property
    def perfect(self) -> bool:
        return all(letter == EXPLAINED for letter in self.letters.values())

    @property
    def explained(self) -> tuple[Key, ...]:
        return tuple(key for key, letter in self.letters.items() if letter == EXPLAINED)

    @property
    def wrong(self) -> tuple[Key, ...]:
        """What is not explained, predictions of nothing included."""
        return tuple(key for key, letter in self.letters.items() if letter != EXPLAINED)

    def on(self, keys: Sequence[Key]) -> Score:
        """The same program's score on some of these transitions."""
        return Score({key: self.letters[key] for key in keys}, self.problem)


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a program foresees of a plan."""

    gain: float
    """Sum of the predicted rewards."""
    valid: int
    """Actions before the first that is invalid or unknown."""
    end: str
    """``done``, ``invalid``, ``unknown`` (no prediction goes on), ``problem`` (it raised) or ``open``."""


async def score(
    bench: Bench, program: str, episodes: Sequence[Played], asked: Sequence[Key], least_f1: float
) -> Score:
    """Compare predictions with what was seen, transition by transition.

    Args:
        bench: whose sandbox executes the program.
        program: model-written.
        episodes: where the transitions are.
        asked: the transitions.
        least_f1: least agreement of observations.
    """
    letters = dict.fromkeys(asked, RAISED)
    for batch in _batches(episodes, frozenset(asked)):
        data = {"ask": "score", "f1": least_f1, "episodes": [told for told, _ in batch]}
        ran = await _ask(bench, program, data)
        keys = [key for _, its in batch for key in its]
        if isinstance(ran.value, str) and len(ran.value) == len(keys) and set(ran.value) <= set(_POINTS):
            letters.update(zip(keys, ran.value, strict=True))
        else:
            problem = ran.problem or f"{PATH}: it spoiled its own score"
            return Score(dict.fromkeys(asked, RAISED), problem)
    return Score(letters)


async def explanation(bench: Bench, program: str, played: Played, step: int, least_f1: float) -> str:
    """What the program predicts for one transition, or what it raises."""
    told, _ = _told(played, frozenset({Key(played.number, step)}))
    ran = await _ask(bench, program, {"ask": "explain", "f1": least_f1, "episodes": [told]})
    return cut(ran.value, harness.TEXT) if isinstance(ran.value, str) else ran.problem


async def rollouts(
    bench: Bench,
    program: str,
    first: Observation,
    exchanges: Sequence[Exchange],
    plans: Sequence[Sequence[str]],
    chars: int,
) -> list[Rollout]:
    """What the program foresees of each plan from where an episode stands; nothing if it cannot."""
    goal, text, taken = so_far(first, exchanges, chars)
    data = {"ask": "roll", "goal": goal, "first": text, "taken": taken, "plans": plans}
    ran = await _ask(bench, program, data)
    value = ran.value
    if not isinstance(value, list) or len(value) != len(plans) or not all(map(_is_rollout, value, plans)):
        return []
    return [Rollout(float(gain), valid, end) for gain, valid, end in value]


async def finds_plan(bench: Bench, program: str, played: Played, depth: int) -> bool:
    """Whether a plan of the episode's own actions earns a reward, as the program sees it (optimism)."""
    data = {
        "ask": "search",
        "goal": played.goal,
        "first": played.first,
        "own": [step.action for step in played.steps if step.valid],
        "actions": list(dict.fromkeys(step.action for step in played.steps)),
        "depth": depth,
        "effort": EFFORT,
    }
    return isinstance((await _ask(bench, program, data)).value, list)


async def _ask(bench: Bench, program: str, data: Mapping[str, Any]) -> Ran:
    return await run(bench, PATH, program, harness, {**data, "seed": fill(PROMPTS, "seed_belief")})


def _is_rollout(value: Any, plan: Sequence[str]) -> bool:
    if not isinstance(value, list) or [type(part) for part in value[1:]] != [int, str]:
        return False
    gain, valid, _ = value
    return type(gain) in (int, float) and abs(gain) <= MOST_GAIN and 0 <= valid <= len(plan)


def _batches(
    episodes: Sequence[Played], asked: frozenset[Key]
) -> Iterator[list[tuple[dict[str, Any], list[Key]]]]:
    """Episodes with their transitions, as many as fit into one execution."""
    batch: list[tuple[dict[str, Any], list[Key]]] = []
    size = cases = 0
    for played in episodes:
        told, keys = _told(played, asked)
        if not keys:
            continue
        weight = len(json.dumps(told))
        if batch and (size + weight > DATA_CHARS or cases + len(keys) > CASES):
            yield batch
            batch, size, cases = [], 0, 0
        batch.append((told, keys))
        size, cases = size + weight, cases + len(keys)
    if batch:
        yield batch


def _told(played: Played, asked: frozenset[Key]) -> tuple[dict[str, Any], list[Key]]:
    """An episode up to the last transition that is asked about, and those transitions."""
    keys = [key for index in range(len(played.steps)) if (key := Key(played.number, index)) in asked]
    steps = [
        {
            "action": step.action,
            "observation": step.observation,
            "valid": step.valid,
            "reward": step.reward,
            "done": step.done,
            "asked": Key(played.number, index) in asked,
        }
        for index, step in enumerate(played.steps[: keys[-1].step + 1 if keys else 0])
    ]
    return {"goal": played.goal, "first": played.first, "steps": steps}, keys
