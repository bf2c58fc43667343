"""Rules put to use: on an action that is about to be sent, and on all that was seen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.buffer import cut, verb_of
from agents.execution import Ran, run
from agents.protocol import Bench
from agents.walle import harness
from agents.walle.rules import Rule
from agents.walle.transitions import Key, Played, without

STEPS_AT_ONCE = 50
"""Steps of one episode that go into one execution."""
CASES_AT_ONCE = 300
EPISODE_WEIGHT, RULE_WEIGHT = 120_000, 60_000
"""Characters of one execution's episodes and rules: together below the sandbox's limit."""
RULES_AT_ONCE = 30
"""A rule's answer is a bit per case in hexadecimal, and all answers are printed."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a rule holds an action back."""

    rule: str
    feedback: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a rule does with what was seen."""

    vetoed: frozenset[Key] = frozenset()
    problem: str = ""
    """What it raised, or why it could not be executed; then ``vetoed`` says nothing."""


async def objections(bench: Bench, rules: Sequence[Rule], episode: Played, action: str) -> list[Objection]:
    """What rules have against an action of their verb: at most three objections.

    A rule that raises has none; where the rules cannot be executed to the end, there is none at all.
    """
    asked = [rule for rule in rules if rule.verb == verb_of(action)]
    if not asked:
        return []
    data = {"ask": "veto", "rules": _written(asked), "episodes": [_told(episode)], "action": action}
    ran = await run(bench, "rules.py", "", harness, data)
    said = ran.value if isinstance(ran.value, list) else []
    words = {rule.name: rule.rule for rule in asked}
    return [_objection(words, *one) for one in said[: harness.TOLD] if _is_objection(one, words)]


def _is_objection(value: Any, words: Mapping[str, str]) -> bool:
    is_texts = isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)
    return is_texts and value[0] in words


def _objection(words: Mapping[str, str], name: str, feedback: str, suggestion: str) -> Objection:
    """A rule that gives no reason is told in its own words."""
    return Objection(name, _text(feedback) or words[name], _text(suggestion))


def _text(text: str) -> str:
    return cut(text, harness.WORDS)


async def tested(bench: Bench, rules: Sequence[Rule], episodes: Sequence[Played]) -> dict[str, Effect]:
    """What every rule, by name, does with the transitions of the episodes."""
    found = {rule.name: Effect() for rule in rules}
    for verb in sorted({rule.verb for rule in rules}):
        own = [rule for rule in rules if rule.verb == verb]
        for batch in _batches(_of_verb(verb, episodes)):
            for group in _groups([rule for rule in own if not found[rule.name].problem]):
                for name, effect in (await _asked(bench, group, batch)).items():
                    found[name] = Effect(found[name].vetoed | effect.vetoed, effect.problem)
    return found


async def _asked(bench: Bench, rules: Sequence[Rule], episodes: Sequence[Played]) -> dict[str, Effect]:
    """One execution; where it fails, one for each rule, to know which is to blame."""
    keys = [key for played in episodes for key in played.transitions()]
    data = {
        "ask": "test",
        "rules": _written(rules),
        "episodes": list(map(_told, episodes)),
    }
    ran = await run(bench, "rules.py", "", harness, data)
    answers = _answers(ran, keys, len(rules))
    if answers is not None:
        return {rule.name: answer for rule, answer in zip(rules, answers, strict=True)}
    if len(rules) == 1:
        return {rules[0].name: Effect(problem=ran.problem or "its answers are unreadable")}
    alone = [await _asked(bench, [rule], episodes) for rule in rules]
    return {name: answer for each in alone for name, answer in each.items()}


def _answers(ran: Ran, keys: Sequence[Key], rules: int) -> list[Effect] | None:
    """One answer per rule; None where what came out of the sandbox is not that."""
    said = ran.value
    if not isinstance(said, list) or len(said) != rules:
        return None
    answers = [_answer(one, keys) for one in said]
    return [answer for answer in answers if answer] if all(answers) else None


def _answer(said: Any, keys: Sequence[Key]) -> Effect | None:
    if not isinstance(said, str):
        return None
    if said.startswith("!"):
        return Effect(problem=_text(said[1:]) or "it raised something")
    try:
        bits = f"{int(said, 16):b}"
    except ValueError:
        return None
    if len(bits) != len(keys) + 1:
        return None
    return Effect(frozenset(key for key, bit in zip(keys, bits[1:], strict=True) if bit == "1"))


def _of_verb(verb: str, episodes: Sequence[Played]) -> list[Played]:
    """The episodes with the transitions of one verb only: its rules pass all others anyway."""
    kept = [
        without(
            played, {key for key in played.transitions() if verb_of(played.steps[key.step].action) != verb}
        )
        for played in episodes
    ]
    return [played for played in kept if played.steps]


# --- what fits into one execution --------------------------------------------------------------


def _batches(episodes: Sequence[Played]) -> Iterator[list[Played]]:
    """Episodes in order, as many as fit; equal ones every time, so that equal answers are remembered."""
    batch: list[Played] = []
    weight = cases = 0
    for part in (part for played in episodes for part in _parts(played)):
        own, count = _weight(_told(part)), sum(1 for _ in part.transitions())
        if batch and (weight + own > EPISODE_WEIGHT or cases + count > CASES_AT_ONCE):
            yield batch
            batch, weight, cases = [], 0, 0
        batch.append(part)
        weight, cases = weight + own, cases + count
    if batch:
        yield batch


def _parts(played: Played) -> Iterator[Played]:
    """The episode's transitions, a few at a time, each with all that rules may see of what was before."""
    keys = list(played.transitions())
    for start in range(0, len(keys), STEPS_AT_ONCE):
        yield without(played, {*keys[:start], *keys[start + STEPS_AT_ONCE :]})


def _groups(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    group: list[Rule] = []
    weight = 0
    for rule in rules:
        own = _weight(rule.code)
        if group and (weight + own > RULE_WEIGHT or len(group) == RULES_AT_ONCE):
            yield group
            group, weight = [], 0
        group.append(rule)
        weight += own
    if group:
        yield group


def _weight(value: Any) -> int:
    """Characters of a value in the executed text."""
    return len(repr(json.dumps(value)))


def _written(rules: Sequence[Rule]) -> list[tuple[str, str, str]]:
    return [(rule.name, rule.verb, rule.code) for rule in rules]


def _told(played: Played) -> Mapping[str, Any]:
    """An episode as the harness reads it."""
    steps = [(taken.action, taken.observation, int(taken.success is not None)) for taken in played.steps]
    return {"goal": played.goal, "first": played.first, "steps": steps}
