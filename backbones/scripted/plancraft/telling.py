"""What an episode showed, in sentences."""

from __future__ import annotations

from collections.abc import Callable

from backbones.scripted.names import likeness
from backbones.scripted.plancraft.facts import Facts
from backbones.scripted.plancraft.lessons import Lesson
from backbones.scripted.plancraft.sentences import sentences


def tell(lesson: Lesson) -> tuple[str, ...]:
    """One sentence for each fact: ways to the target or to what is called like it, then failed smelts."""
    facts, target = lesson.facts, lesson.target
    ways = [(made.item, Facts({grid: made})) for grid, made in facts.recipes.items()]
    ways += [(made, Facts(smelts={item: made})) for item, made in facts.smelts.items()]
    inert = [(item, Facts(unsmeltable=frozenset({item}))) for item in sorted(facts.unsmeltable)]
    ordered = [*sorted(ways, key=_likeness_to(target)), *sorted(inert, key=_likeness_to(target))]
    return tuple(f"{sentence}." for _, fact in ordered for sentence in sentences(fact))


def _likeness_to(target: str) -> Callable[[tuple[str, Facts]], float]:
    return lambda told: -likeness(target, told[0])
