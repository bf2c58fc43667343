"""What statements bind, and the statements of a scope. Pure functions on syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

__all__ = [
    "FUNCTIONS",
    "KEPT",
    "Function",
    "bound_names",
    "drop_bodies",
    "flatten",
    "is_docstring",
    "targets",
]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_FLAT = (ast.ClassDef, *FUNCTIONS, ast.Assign, ast.AnnAssign, ast.Expr, ast.Import, ast.ImportFrom)

KEPT = 2048
"""Statements whose tree, and what is known of it, is kept: those of dozens of chains' memories. Every cache
that has a node as its key keeps the whole tree, so a larger one is what a driver of days would grow by."""


@lru_cache(maxsize=KEPT)
def bound_names(statement: ast.stmt) -> tuple[str, ...]:
    """What a statement binds in its scope, looking into blocks but not into functions and classes.

    Nodes are equal by identity, and one text gives one node: a sound cache key.
    """
    return tuple(name for node in flatten([statement]) for name in _own_names(node))


def flatten(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of one scope in order, those in blocks included."""
    stack = list(body)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _FLAT):
            continue
        inner: list[ast.stmt] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                inner.append(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                inner += child.body
        stack += inner[::-1]


def _own_names(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names if alias.name != "*"]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [name for item in node.items if item.optional_vars for name in targets(item.optional_vars)]
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in targets(target)]
    if isinstance(node, ast.AnnAssign | ast.For | ast.AsyncFor):
        return targets(node.target)
    alias = getattr(node, "name", None)  # ``type X = …``
    return [alias.id] if isinstance(alias, ast.Name) else []


def targets(target: ast.expr) -> list[str]:
    """The plain names in an assignment's target; attributes and items bind none."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return targets(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in targets(element)]
    return []


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a bare string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def drop_bodies(body: Iterable[ast.stmt]) -> None:
    """Leave of each function's body only the docstring."""
    stack = list(body)
    while stack:
        for node in flatten([stack.pop()]):
            if isinstance(node, FUNCTIONS):
                node.body = node.body[:1] if node.body and is_docstring(node.body[0]) else []
            elif isinstance(node, ast.ClassDef):
                stack += node.body
