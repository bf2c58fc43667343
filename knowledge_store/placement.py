"""Where a definition must stand so that importing the module does not surely raise ``NameError``.

Python executes a module from top to bottom. A base class, decorator, default, annotation or value must be
bound above the definition that names it. A model that sends definitions by name cannot see to that, so:

- a new definition that a replaced one needs goes directly before it instead of to the end;
- new definitions go to the end in an order in which each stands below what it needs;
- a replaced definition that needs something that is first bound further down moves directly below it,
  unless a definition between the two needs it where it is.

Function bodies do not count: they run later.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from knowledge_store.outline import Outline, Unit
from knowledge_store.scopes import FUNCTIONS, KEPT, bound_names

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """Where the units of an update go. Replaced units that are not in ``moved`` stay where they are."""

    before: Mapping[Unit, Sequence[Unit]]
    """Replaced unit -> the new units to put directly before it, in order."""
    moved: Mapping[Unit, Unit]
    """Replaced unit -> the unit of the old text below which it goes."""
    end: Sequence[Unit]
    """The new units for the end, in order."""


def plan(base: Outline, units: Sequence[Unit], holder: Callable[[Unit], Unit | None]) -> Plan:
    """Place the update's definitions. ``holder`` tells which unit of ``base`` one replaces, if any."""
    lazy = any(map(_has_lazy_annotations, (*base.units, *units)))
    owner = {name: unit for unit in units for name in unit.names}
    graph = _Graph({unit: _others(unit, owner, lazy) for unit in units})
    held = {unit: other for unit in units if (other := holder(unit)) is not None}
    replaced = sorted(held, key=lambda unit: held[unit].start)
    before = {unit: [new for new in graph.visit(unit) if new not in held] for unit in replaced}
    end = [new for unit in units for new in graph.visit(unit) if new not in held]
    lowest = _lowest(base, graph, lazy)
    moved = {
        unit: below
        for unit in replaced
        if (below := lowest[unit]) is not None and _may_move(base, unit, held[unit], below, lazy)
    }
    return Plan(before, moved, end)


def _others(unit: Unit, owner: Mapping[str, Unit], lazy: bool) -> tuple[Unit, ...]:
    """The units of the update that a unit needs directly."""
    needed = sorted(needs(unit, lazy) - set(unit.names))
    return tuple(dict.fromkeys(owner[name] for name in needed if name in owner))


class _Graph:
    """Units of an update and what they need of each other; visits each once, depth first."""

    def __init__(self, edges: Mapping[Unit, Sequence[Unit]]) -> None:
        self.edges = edges
        self.order: list[Unit] = []
        """All visited units, each below what it needs."""
        self.circular: set[Unit] = set()
        """Units that need each other in a circle, and those that need such a one: left where they are."""
        self._seen: set[Unit] = set()

    def visit(self, root: Unit) -> list[Unit]:
        """What was not visited yet of a unit and all that it needs, in order."""
        start = len(self.order)
        path: dict[Unit, None] = {}
        stack = [(root, False)]
        while stack:
            unit, is_complete = stack.pop()
            if is_complete:
                path.pop(unit)
                self.order.append(unit)
                if self.circular.intersection(self.edges[unit]):
                    self.circular.add(unit)
            elif unit in path:
                self.circular.add(unit)
            elif unit not in self._seen:
                self._seen.add(unit)
                path[unit] = None
                stack += [(unit, True), *((other, False) for other in self.edges[unit])]
        return self.order[start:]


def _lowest(base: Outline, graph: _Graph, lazy: bool) -> dict[Unit, Unit | None]:
    """For each unit the lowest unit of ``base`` that it needs, directly or through the update's others."""
    first = {name: unit for unit in reversed(base.units) for name in unit.names}
    lowest: dict[Unit, Unit | None] = {}
    for unit in graph.order:
        direct = [first.get(name) for name in needs(unit, lazy) - set(unit.names)]
        found = [*direct, *(lowest.get(other) for other in graph.edges[unit])]
        known = [other for other in found if other is not None]
        lowest[unit] = None if unit in graph.circular else max(known, key=lambda u: u.start, default=None)
    return lowest


def _may_move(base: Outline, unit: Unit, held: Unit, below: Unit, lazy: bool) -> bool:
    """Whether a replaced unit stands too high, and nothing between needs it where it is."""
    between = [other for other in base.units if held.start < other.start <= below.start]
    names = set(unit.names)
    return bool(between) and not any(needs(other, lazy) & names for other in between)


def _has_lazy_annotations(unit: Unit) -> bool:
    node = unit.parts[0].node
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


def needs(unit: Unit, lazy: bool) -> frozenset[str]:
    """The module's names that are looked up when the unit is executed; see :func:`_needs`."""
    return _needs(tuple(part.node for part in unit.parts), lazy)


@lru_cache(maxsize=KEPT)
def _needs(nodes: tuple[ast.stmt, ...], lazy: bool) -> frozenset[str]:
    """The module's names that are looked up when the statements are executed.

    Args:
        lazy: annotations are not evaluated.
    """
    loaded: set[str] = set()
    own: set[str] = set()
    stack: list[ast.AST] = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else own).add(node.id)
        elif isinstance(node, ast.ClassDef):
            own.update(name for statement in node.body for name in bound_names(statement))
        stack += _executed(node, lazy)
    return frozenset(loaded - own)


def _executed(node: ast.AST, lazy: bool) -> Iterable[ast.AST]:
    """The parts of a node that are evaluated with it."""
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        args = node.args
        defaults = [*args.defaults, *(default for default in args.kw_defaults if default)]
        if isinstance(node, ast.Lambda):
            return defaults
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        notes = [arg.annotation for arg in every if arg and arg.annotation]
        notes += [node.returns] if node.returns else []
        return [*node.decorator_list, *defaults, *([] if lazy else notes)]
    if isinstance(node, ast.AnnAssign) and lazy:
        return [node.target, *([node.value] if node.value else [])]
    return ast.iter_child_nodes(node)
