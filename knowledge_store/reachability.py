"""Which names a procedure really uses when its file is executed from the first line.

An estimate from the text, for good messages before execution. Left out: what follows a ``return`` or
``raise``, branches with a constant condition, ``except`` handlers, annotations, a name that only stands
there or is only given another name, and functions that nothing live refers to. What the text cannot
tell (``if x:`` for an ``x`` that is never true) counts as live; the sandbox sees what really runs.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from knowledge_store.scopes import FUNCTIONS, Function

__all__ = ["Live", "live"]


@dataclass(frozen=True, slots=True)
class Live:
    """What live code loads."""

    names: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    """(name, attribute) of plain ``name.attribute``."""


def live(module: ast.Module) -> Live:
    """What the module's live code loads. The nesting must have been limited before."""
    walk = _Walk()
    walk.ready.append(_Scope(module.body))
    while walk.ready:
        walk.scope(walk.ready.pop())
    return Live(frozenset(walk.names), frozenset(walk.attributes))


@dataclass(frozen=True, slots=True)
class _Scope:
    """A body to walk."""

    body: Sequence[ast.stmt]
    local: frozenset[str] = frozenset()
    """Names that hide the module's."""
    owner: str = ""
    """The class whose body it is."""


@dataclass
class _Walk:
    names: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    """Loaded names and attributes: what makes a waiting body live."""
    waiting: defaultdict[str, list[_Scope]] = field(default_factory=lambda: defaultdict(list))
    ready: list[_Scope] = field(default_factory=list)

    def scope(self, scope: _Scope) -> None:
        for node in _live_statements(scope.body):
            if isinstance(node, FUNCTIONS):
                self._function(node, scope)
            elif isinstance(node, ast.ClassDef):
                bases = [*node.decorator_list, *node.bases, *(key.value for key in node.keywords)]
                self._expressions(bases, scope.local)
                self.ready.append(_Scope(node.body, scope.local, node.name))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and _plain(node.targets):
                use = _Scope([ast.Assert(test=node.value)], scope.local)
                self._wait({target.id for target in node.targets if isinstance(target, ast.Name)}, use)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)):
                self._expressions(_own_expressions(node), scope.local)

    def _function(self, node: Function, scope: _Scope) -> None:
        self._expressions([*node.decorator_list, *_defaults(node.args)], scope.local)
        self._wait({node.name, scope.owner} - {""}, _Scope(node.body, scope.local | _locals(node)))
        if node.decorator_list and not scope.owner:
            self._touch(node.name)  # a decorator may keep and call it

    def _wait(self, keys: set[str], scope: _Scope) -> None:
        if keys & self.touched:
            self.ready.append(scope)
            return
        for key in keys:
            self.waiting[key].append(scope)

    def _touch(self, name: str) -> None:
        self.touched.add(name)
        self.ready += self.waiting.pop(name, [])

    def _expressions(self, roots: Iterable[ast.AST], local: frozenset[str]) -> None:
        stack = list(roots)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Attribute):
                self._touch(node.attr)
                if isinstance(node.value, ast.Name):
                    self.attributes.add((node.value.id, node.attr))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._touch(node.id)
                if node.id not in local:
                    self.names.add(node.id)
            stack += _live_operands(node)


def _plain(found: Sequence[ast.expr]) -> bool:
    return all(isinstance(target, ast.Name) for target in found)


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _locals(node: Function) -> frozenset[str]:
    """Parameters and assigned names of a function; what is declared global is not local."""
    args = node.args
    found = {arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
    found |= {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}
    outer: set[str] = set()
    for inner in (inner for statement in node.body for inner in ast.walk(statement)):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, ast.Global | ast.Nonlocal):
            outer |= set(inner.names)
    return frozenset(found - outer)


# --- statements ----------------------------------------------------------------------------------


def _live_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Live statements of one scope, those in blocks included."""
    for node in body:
        yield node
        for block in _live_blocks(node):
            yield from _live_statements(block)
        if _ends(node):
            return


def _live_blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
        return []
    if isinstance(node, ast.If | ast.While):
        truth = _truth(node.test)
        return [*([] if truth is False else [node.body]), *([] if truth is True else [node.orelse])]
    if isinstance(node, ast.For | ast.AsyncFor):
        return [*([] if _truth(node.iter) is False else [node.body]), node.orelse]
    if isinstance(node, ast.Try | ast.TryStar):
        return [node.body, node.orelse, node.finalbody]
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    return [node.body] if isinstance(node, ast.With | ast.AsyncWith) else []


def _ends(node: ast.stmt) -> bool:
    """Whether nothing after ``node`` in its block is reached."""
    if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.Assert):
        return _truth(node.test) is False
    if isinstance(node, ast.If):
        blocks = _live_blocks(node)
        return all(any(_ends(inner) for inner in block) for block in blocks)
    return False


def _own_expressions(node: ast.stmt) -> list[ast.AST]:
    """A statement's expressions, without blocks in it and without annotations."""
    if isinstance(node, ast.AnnAssign):
        return [node.target, *([node.value] if node.value else [])]
    inner = (ast.stmt, ast.ExceptHandler, ast.match_case)
    found = [child for child in ast.iter_child_nodes(node) if not isinstance(child, inner)]
    if isinstance(node, ast.Match):
        return [*found, *(part for case in node.cases for part in (case.pattern, case.guard) if part)]
    return found


# --- expressions ---------------------------------------------------------------------------------


def _live_operands(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that may be evaluated."""
    if isinstance(node, ast.Lambda):
        return [*_defaults(node.args), node.body]
    if isinstance(node, ast.IfExp):
        truth = _truth(node.test)
        return [
            node.test,
            *([] if truth is False else [node.body]),
            *([] if truth is True else [node.orelse]),
        ]
    if isinstance(node, ast.BoolOp):
        stop = isinstance(node.op, ast.Or)
        for index, value in enumerate(node.values):
            if _truth(value) is stop:
                return list(node.values[: index + 1])
    return list(ast.iter_child_nodes(node))


def _truth(node: ast.expr) -> bool | None:
    """A condition's value if the text tells it."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return bool(node.elts) if not any(isinstance(e, ast.Starred) for e in node.elts) else None
    if isinstance(node, ast.Dict):
        return bool(node.keys) if None not in node.keys else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        truth = _truth(node.operand)
        return None if truth is None else not truth
    if isinstance(node, ast.BoolOp):
        stop = isinstance(node.op, ast.Or)
        truths = [_truth(value) for value in node.values]
        return stop if stop in truths else (None if None in truths else not stop)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return False if name == "TYPE_CHECKING" else None
