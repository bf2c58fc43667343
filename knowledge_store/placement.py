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
from knowledge_store.scopes import FUNCTIONS, bound_names

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
    wants = {unit: _closure(unit, owner, lazy) for unit in units}
    placed: set[Unit] = set()

    def new_among(unit: Unit) -> list[Unit]:
        found = [other for other in wants[unit].units if holder(other) is None and other not in placed]
        placed.update(found)
        return found

    replaced = sorted((unit for unit in units if holder(unit)), key=lambda u: _start(holder(u)))
    before = {unit: new_among(unit) for unit in replaced}
    end: list[Unit] = []
    for unit in units:
        if holder(unit) is None and unit not in placed:
            placed.add(unit)
            end += [*new_among(unit), unit]
    moved = {
        unit: below for unit in replaced if (below := _below(base, unit, holder(unit), wants[unit], lazy))
    }
    return Plan(before, moved, end)


def _start(unit: Unit | None) -> int:
    return unit.start if unit else 0


@dataclass(frozen=True)
class _Wants:
    names: frozenset[str]
    """All that it needs at import, through the other units of the update that are new or replaced."""
    units: tuple[Unit, ...]
    """The units of the update among them, each below what it needs itself."""
    is_circular: bool


def _closure(unit: Unit, owner: Mapping[str, Unit], lazy: bool) -> _Wants:
    """Depth first, without recursion: a unit is listed once all it needs is listed."""
    names: set[str] = set()
    done: dict[Unit, None] = {}
    is_circular = False
    seen: set[Unit] = set()
    stack = [(unit, False)]
    while stack:
        current, is_complete = stack.pop()
        if is_complete:
            done[current] = None
            continue
        if current in seen:
            continue
        seen.add(current)
        stack.append((current, True))
        needed = sorted(_needs(tuple(part.node for part in current.parts), lazy))
        names.update(needed)
        for other in dict.fromkeys(owner[name] for name in needed if name in owner):
            is_circular |= other is unit and current is not unit
            stack.append((other, False))
    done.pop(unit)
    return _Wants(frozenset(names - set(unit.names)), tuple(done), is_circular)


def _below(base: Outline, unit: Unit, held: Unit | None, wants: _Wants, lazy: bool) -> Unit | None:
    """The unit of ``base`` below which a replaced unit must go, or None if it may stay."""
    if held is None or wants.is_circular:
        return None
    first: dict[str, Unit] = {}
    for other in base.units:
        for name in other.names:
            first.setdefault(name, other)
    lowest = max((first[name] for name in wants.names if name in first), key=_start, default=None)
    if lowest is None or lowest.start <= held.start:
        return None
    between = [other for other in base.units if held.start < other.start <= lowest.start]
    if any(_needs(tuple(part.node for part in other.parts), lazy) & set(unit.names) for other in between):
        return None
    return lowest


def _has_lazy_annotations(unit: Unit) -> bool:
    node = unit.parts[0].node
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


@lru_cache(maxsize=16384)
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
