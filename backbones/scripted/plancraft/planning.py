"""From facts and stock to jobs: which crafts and smelts lead to an item, ingredients first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from backbones.scripted.names import by_analogy, difference, kind, tokens
from backbones.scripted.plancraft.facts import Facts, Made, Way
from backbones.scripted.plancraft.grids import cells

DEPTH = 6
EFFORT = 400
"""Sub-goals looked at for one plan."""
BY_ANALOGY = 0.6
BY_SUBSTITUTE = 0.5
BY_HEAD = 0.35
LEAST_TRUST = 0.2


class Job(NamedTuple):
    """A way to be gone so many times."""

    way: Way
    times: int


class Plan(NamedTuple):
    jobs: tuple[Job, ...]
    trust: float


@dataclass(frozen=True, eq=False)
class Book:
    """Facts with the look-ups that planning needs."""

    facts: Facts
    barren: frozenset[str] = frozenset()
    """Patterns that gave nothing in this episode."""

    @cached_property
    def recipes(self) -> Mapping[str, Made]:
        return {pattern: made for pattern, made in self.facts.recipes.items() if pattern not in self.barren}

    @cached_property
    def known(self) -> Mapping[str, list[Way]]:
        """Product -> ways."""
        found: dict[str, list[Way]] = {}
        for way in Facts(self.recipes, self.facts.smelts).ways():
            found.setdefault(way.product, []).append(way)
        return found

    @cached_property
    def by_kind(self) -> Mapping[str, list[Way]]:
        """Last word of the product -> ways."""
        found: dict[str, list[Way]] = {}
        for product, ways in self.known.items():
            found.setdefault(kind(product), []).extend(ways)
        return found

    def is_open(self, way: Way) -> bool:
        """Whether nothing is known of what a grid or a smelt gives."""
        if way.pattern:
            return way.pattern not in self.facts.recipes and way.pattern not in self.barren
        return way.smelted not in self.facts.smelts and not self.facts.is_unsmeltable(way.smelted)

    def reachable(self, stock: Iterable[str]) -> set[str]:
        """Items that known ways lead to, quantities aside."""
        found = set(stock)
        waiting = [way for ways in self.known.values() for way in ways if way.product not in found]
        grown = True
        while grown:
            ready = [way for way in waiting if way.ingredients().keys() <= found]
            grown = bool(ready)
            found.update(way.product for way in ready)
            waiting = [way for way in waiting if way.product not in found]
        return found

    @cached_property
    def by_head(self) -> Mapping[str, list[Way]]:
        """First word of the product -> ways."""
        found: dict[str, list[Way]] = {}
        for product, ways in self.known.items():
            found.setdefault(tokens(product)[0], []).extend(ways)
        return found

    def analogies(self, item: str) -> Iterator[Way]:
        """Ways to an item as ways to its siblings would have it; open ones only."""
        for sibling in self.by_kind.get(kind(item), ()):
            if sibling.product != item:
                yield from self._transferred(sibling, item, BY_ANALOGY)
        for cousin in self.by_head.get(tokens(item)[0], ()):
            if kind(cousin.product) != kind(item):
                yield from self._transferred(cousin, item, BY_HEAD)

    def _transferred(self, known: Way, item: str, trust: float) -> Iterator[Way]:
        old, new, _ = difference(known.product, item)
        way = renamed(known, {part: by_analogy(part, old, new) for part in known.ingredients()})
        if way != known and self.is_open(way):
            yield way._replace(product=item, trust=trust)


def renamed(way: Way, names: Mapping[str, str]) -> Way:
    """The way with other ingredients."""
    if way.smelted:
        return way._replace(smelted=names.get(way.smelted, way.smelted))
    words = [names.get(word, word) for word in way.pattern.split(" ")]
    return way._replace(pattern=" ".join(words))


class Planner:
    """Plans for one state. Holds what was worked out for it, so make one per turn."""

    def __init__(self, book: Book, stock: Mapping[str, int]) -> None:
        self.book = book
        self.stock = Counter(stock)
        self.reachable = book.reachable(stock)
        self._ways: dict[str, list[Way]] = {}
        self._kins: dict[str, list[str]] = {}
        self._effort = 0

    def plan(self, way: Way, times: int = 1) -> Plan | None:
        """What to do to go one way, or None where the stock does not allow it."""
        self._effort = EFFORT
        needs = {item: count * times for item, count in way.ingredients().items()}
        jobs = self._gather(needs, Counter(self.stock), DEPTH, frozenset({way.product}))
        if jobs is None:
            return None
        trust = way.trust
        for job in jobs:
            trust *= job.way.trust
        return Plan((*jobs, Job(way, times)), trust)

    def ways(self, item: str) -> list[Way]:
        """Ways to an item, the most trusted first."""
        if item not in self._ways:
            known = list(self.book.known.get(item, ()))
            assumed = list(self.book.analogies(item))
            swapped = [other for way in (*known, *assumed) for other in self._substitutes(way)]
            best: dict[tuple[str, str], Way] = {}
            for way in sorted((*known, *assumed, *swapped), key=lambda way: -way.trust):
                best.setdefault((way.pattern, way.smelted), way)
            self._ways[item] = sorted(best.values(), key=self._preference)
        return self._ways[item]

    def _preference(self, way: Way) -> tuple[float, int]:
        missing = sum(max(0, n - self.stock[item]) for item, n in way.ingredients().items())
        return -way.trust, missing

    def _substitutes(self, way: Way) -> Iterator[Way]:
        """The way with one missing ingredient replaced by something of its kind that is at hand.

        What the product is named after cannot be replaced: a white bed needs white wool, but any planks.
        """
        for item in way.ingredients():
            if item in self.reachable or set(tokens(way.product)) & set(tokens(item)[:-1]):
                continue
            for other in self._kin(kind(item)):
                swapped = renamed(way, {item: other})
                if other != item and self.book.is_open(swapped):
                    yield swapped._replace(trust=way.trust * BY_SUBSTITUTE)

    def _kin(self, word: str) -> list[str]:
        """Things of a kind that are at hand, or that may be made like their siblings from what is."""
        if word not in self._kins:
            found = {item for item in self.reachable if kind(item) == word}
            for way in self.book.by_kind.get(word, ()):
                for part in way.ingredients():
                    alike = [item for item in self.stock if kind(item) == kind(part) and item != part]
                    found.update(by_analogy(way.product, *difference(part, item)[:2]) for item in alike)
            self._kins[word] = sorted(found)
        return self._kins[word]

    def frontier(self, target: str) -> dict[str, float]:
        """Items that would complete a way to the target, with the trust in that way: worth finding out."""
        found: dict[str, float] = {}
        for way in self.ways(target):
            missing = [item for item in way.ingredients() if item not in self.reachable]
            if len(missing) == 1 and way.trust >= LEAST_TRUST:
                found[missing[0]] = max(found.get(missing[0], 0.0), way.trust)
        return {target: 1 - max(found.values(), default=0.0) / 2, **found}

    def _gather(
        self, needs: Mapping[str, int], stock: Counter[str], depth: int, busy: frozenset[str]
    ) -> list[Job] | None:
        """Jobs that bring the needs together; takes them out of ``stock``."""
        jobs: list[Job] = []
        short: list[tuple[str, int]] = []
        for item, count in needs.items():
            there = min(stock[item], count)
            stock[item] -= there
            if there < count:
                short.append((item, count - there))
        for item, count in short:
            made = self._make(item, count, stock, depth, busy)
            if made is None:
                return None
            jobs += made
        return jobs

    def _make(
        self, item: str, count: int, stock: Counter[str], depth: int, busy: frozenset[str]
    ) -> list[Job] | None:
        self._effort -= 1
        if depth == 0 or item in busy or self._effort < 0:
            return None
        for way in self.ways(item):
            times = -(-count // way.amount)
            trial = stock.copy()
            needs = {part: n * times for part, n in way.ingredients().items()}
            jobs = self._gather(needs, trial, depth - 1, busy | {item})
            if jobs is not None:
                trial[item] += times * way.amount - count
                stock.clear()
                stock.update(trial)
                return [*jobs, Job(way, times)]
        return None

    def best(self, target: str) -> Plan | None:
        """The most trusted plan for one piece of the target, the shorter one of equals."""
        plans = [plan for way in self.ways(target) if (plan := self.plan(way)) and plan.trust >= LEAST_TRUST]
        return max(plans, key=lambda plan: (plan.trust, -moves(plan)), default=None)

    def missing(self, target: str, depth: int = 4) -> list[str]:
        """The target and what would have to be made on the way to it: what to look up."""
        found = [target]
        for item in found:
            if len(found) > 24:
                break
            for way in self.ways(item):
                found += [part for part in way.ingredients() if part not in found and not self.stock[part]]
        return found


def moves(plan: Plan) -> int:
    """About how many actions a plan takes from an empty grid."""
    return sum(len(cells(job.way.pattern)) + job.times if job.way.pattern else 1 for job in plan.jobs)
