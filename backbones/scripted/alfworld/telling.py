"""What an episode showed, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.alfworld.lessons import Lesson


def tell(lesson: Lesson) -> tuple[str, ...]:
    """Where the goal's things lay, which changes had an effect, what was closed, and what was in vain."""
    return tuple(dict.fromkeys(f"{sentence}." for sentence in _sentences(lesson)))


def _sentences(lesson: Lesson) -> Iterator[str]:
    for thing, place in lesson.found():
        yield f"A {thing} was at a {place}"
    for verb, place in lesson.changes():
        yield f"To {verb} a thing works with a {place}"
    for place in lesson.opened():
        yield f"A {place} may be closed and can be opened"
    for what in sorted(lesson.facts.in_vain):
        yield f"To {what} has no effect"
