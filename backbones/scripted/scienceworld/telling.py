"""What an episode showed, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.scienceworld.lessons import Lesson
from backbones.scripted.scienceworld.observing import VERBS


def tell(lesson: Lesson) -> tuple[str, ...]:
    """What came of trials and mixtures, how warm devices were, then where the doors lead."""
    return tuple(f"{sentence}." for sentence in _sentences(lesson))


def _sentences(lesson: Lesson) -> Iterator[str]:
    facts = lesson.facts
    for mixture, product in facts.mixtures.items():
        yield f"Mixing {mixture} gives {product}"
    for device, warmth in facts.warmth.items():
        yield f"What is in the {device} has {warmth.low} to {warmth.high} degrees Celsius"
    for what in VERBS:
        for thing, tally in facts.tried.get(what, {}).items():
            yield f"To {what} {thing} {'works' if tally.worked else 'does not work'}"
    for room in lesson.rooms:
        yield f"The {room} has doors to {', '.join(facts.doors[room])}"
