"""One way to come by an item as steps in words: what is seen, why, the action."""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.plancraft.facts import Facts, Made, Way
from backbones.scripted.plancraft.grids import placements
from backbones.scripted.plancraft.sentences import sentences

FREE = "{free slot}"


def steps_of(way: Way) -> Iterator[str]:
    """The steps; the first states the fact. What lies where is a placeholder, items are meant literally."""
    (fact,) = sentences(fact_of(way))
    if way.smelted:
        yield f"{way.smelted} in [{{slot}}] -> {fact} -> {_move('smelt', '{slot}', FREE)}"
        yield f"{way.product} in [{FREE}] -> it can be used now -> {_move('move', FREE, '{cell}')}"
        return
    for cell, item in placements(way.pattern)[0].items():
        why = fact if fact else "the next cell of the grid"
        yield f"{item} in [{{slot of {item}}}] -> {why} -> {_move('move', f'{{slot of {item}}}', cell)}"
        fact = ""
    yield (
        f"{way.product} in [0] -> the craft is completed by taking it -> "
        f"{_move('move', '0', FREE, way.amount)}"
    )


def brief_step_of(way: Way) -> str:
    """The fact in one step, for a workflow that holds many."""
    (fact,) = sentences(fact_of(way))
    verb, target = ("smelt", FREE) if way.smelted else ("move", "{cell of the grid}")
    return f"{', '.join(way.ingredients())} at hand -> {fact} -> {_move(verb, '{slot}', target)}"


def fact_of(way: Way) -> Facts:
    """The one fact that a way is."""
    if way.smelted:
        return Facts(smelts={way.smelted: way.product})
    return Facts({way.pattern: Made(way.product, way.amount)})


def _move(verb: str, source: str, target: str, quantity: int = 1) -> str:
    return f"{verb}: from [{source}] to [{target}] with quantity {quantity}"
