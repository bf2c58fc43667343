"""Which rules stay: none with a false alarm, and the fewest that foresee what the model did not.

After ``rulesverification.py`` of the original: greedy maximum coverage. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.walle.judging import Effect
from agents.walle.rules import Rule
from agents.walle.transitions import Key, Played

TOLD = 3


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The transitions by what came of them."""

    succeeded: Mapping[Key, str]
    """Those that were carried out, with their action."""
    unforeseen: frozenset[Key]
    """Those that failed although the world model predicted success."""


def outcomes(episodes: Sequence[Played]) -> Outcomes:
    taken = {key: played.steps[key.step] for played in episodes for key in played.transitions()}
    return Outcomes(
        {key: one.action for key, one in taken.items() if one.success},
        frozenset(key for key, one in taken.items() if one.success is False and one.foreseen),
    )


def fault(effect: Effect, seen: Outcomes) -> str:
    """Why a rule is no rule: it raised, or held back what was carried out. Empty where it did neither."""
    if effect.problem:
        return effect.problem
    false = sorted(key for key in effect.vetoed if key in seen.succeeded)
    if not false:
        return ""
    shown = "\n".join(f"it would have held back {seen.succeeded[key]!r}" for key in false[:TOLD])
    return f"{len(false)} false alarm(s), on actions that were carried out:\n{shown}"


def without_replaced(
    rules: Collection[Rule],
    replaced: Collection[str],
    effects: Mapping[str, Effect],
    unforeseen: frozenset[Key],
) -> list[Rule]:
    """The rules less those that were put better, as far as the others cover what they cover."""
    others = [rule for rule in rules if rule.name not in replaced]
    covered = {key for rule in others for key in effects[rule.name].vetoed}
    needed = [
        rule
        for rule in rules
        if rule.name in replaced and not effects[rule.name].vetoed & unforeseen <= covered
    ]
    return [*others, *needed]


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules that stay."""

    active: tuple[Rule, ...]
    pool: tuple[Rule, ...]


def select(
    rules: Collection[Rule],
    effects: Mapping[str, Effect],
    unforeseen: frozenset[Key],
    max_rules: int,
    max_pool: int,
) -> Selection:
    """Greedy maximum coverage of the unforeseen failures.

    Args:
        rules: those without a fault.
        effects: by rule's name.
        unforeseen: what is to be covered.
        max_rules: active ones at most.
        max_pool: others at most; the oldest go first.
    """
    waiting, uncovered = list(rules), set(unforeseen)
    active: list[Rule] = []
    while waiting and len(active) < max_rules:
        best = min(waiting, key=lambda rule: (-_gain(rule, effects, uncovered), rule.lines, rule.number))
        if not _gain(best, effects, uncovered):
            break
        active.append(best)
        waiting.remove(best)
        uncovered -= effects[best.name].vetoed
    pool = sorted(waiting, key=lambda rule: -rule.number)[:max_pool]
    return Selection(tuple(_by_number(active)), tuple(_by_number(pool)))


def _gain(rule: Rule, effects: Mapping[str, Effect], uncovered: set[Key]) -> int:
    return len(effects[rule.name].vetoed & uncovered)


def _by_number(rules: Collection[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: rule.number)
