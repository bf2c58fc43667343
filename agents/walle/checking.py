"""What the text of a rule may hold: a white list of syntax, modules and names. The wall is the sandbox."""

from __future__ import annotations

import ast
import collections
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from knowledge_store.errors import ParseError
from knowledge_store.outline import parse

CODE_CHARS = 3_000
NESTING = 40
MODULES: Mapping[str, frozenset[str]] = {
    "collections": frozenset(collections.__all__),
    "itertools": frozenset(name for name in vars(itertools) if not name.startswith("_")),
    "json": frozenset({"loads", "dumps"}),
    "math": frozenset(name for name in vars(math) if not name.startswith("_")),
    "re": frozenset(re.__all__),
}
"""Module -> what a rule may use of it: nothing through which other modules are reached."""
BUILTINS = frozenset(
    name
    for line in (
        "abs all any bool chr dict divmod enumerate filter float frozenset int isinstance iter len list map",
        "max min next ord print range repr reversed round set slice sorted str sum tuple zip",
        "AttributeError Exception IndexError KeyError TypeError ValueError ZeroDivisionError",
    )
    for name in line.split()
)
_STATEMENTS = (
    ast.FunctionDef,
    ast.Return,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Try,
    ast.Raise,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Import,
    ast.ImportFrom,
)
_TOP = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Expr, ast.Import, ast.ImportFrom)
_WAITING = (ast.Await, ast.Yield, ast.YieldFrom)


class Unfit(ValueError):
    """A rule's code that is not even tried; the message says why."""


def checked(code: str) -> str:
    """The code as it is kept.

    Raises:
        Unfit: it is no rule, or holds what a rule does not need.
    """
    if len(code) > CODE_CHARS:
        raise Unfit(f"it has {len(code)} characters of {CODE_CHARS}")
    try:
        tree = parse(code, "rule")
        code.encode()
    except (ParseError, UnicodeEncodeError) as error:
        raise Unfit(str(error)) from error
    problem = next(_problems(tree), "")
    if problem:
        raise Unfit(problem)
    return code.strip("\n") + "\n"


def same(code: str, other: str) -> bool:
    """Whether two rules' codes are equal but for layout and comments."""
    return ast.dump(parse(code, "rule")) == ast.dump(parse(other, "rule"))


def _problems(tree: ast.Module) -> Iterator[str]:
    if _depth(tree) > NESTING:
        yield f"it is nested more than {NESTING} deep"
        return
    yield from (f"line {node.lineno}: not at the top" for node in tree.body if not isinstance(node, _TOP))
    nodes = list(ast.walk(tree))
    known = BUILTINS | {name for node in nodes for name in _bound(node)}
    modules = {other or name: name for name, other in _imported(nodes)}
    bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        found = (*_problem(node, known), *_module_problem(node, modules, bases))
        yield from (f"line {getattr(node, 'lineno', 0)}: {what}" for what in found)
    if not any(isinstance(node, ast.FunctionDef) and _is_rule(node) for node in tree.body):
        yield "there is no function rule(state, action)"


def _problem(node: ast.AST, known: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
        yield f"{type(node).__name__} is not allowed"
    if isinstance(node, _WAITING):
        yield f"{type(node).__name__} is not allowed"
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [node.module or "."] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        yield from (f"module {name} is not allowed" for name in modules if name not in MODULES)
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        yield f"attribute {node.attr} is not allowed"
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield f"attribute {node.attr} may not be changed"  # modules are shared with the other rules
    if isinstance(node, ast.Name) and node.id not in known:
        yield f"name {node.id} is not allowed"
    yield from (f"name {name} is not allowed" for name in _bound(node) if name.startswith("__"))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str | None]]:
    """Module and the name that it is imported as, if it is another."""
    return ((one.name, one.asname) for node in nodes if isinstance(node, ast.Import) for one in node.names)


def _module_problem(node: ast.AST, modules: Mapping[str, str], bases: set[int]) -> Iterator[str]:
    """What of a module is used that a rule may not use; a module may not be handed about."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
            if attr not in MODULES.get(modules[name], ()):
                yield f"{name}.{attr} is not allowed"
        case ast.Name(id=name, ctx=ast.Load()) if name in modules and id(node) not in bases:
            yield f"module {name} may only be used as {name}.something"
        case ast.ImportFrom(module=str(module), names=names) if module in MODULES:
            yield from (
                f"{module}.{one.name} is not allowed" for one in names if one.name not in MODULES[module]
            )


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a node makes known."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)):
            yield name


def _is_rule(node: ast.FunctionDef) -> bool:
    return node.name == "rule" and len(node.args.posonlyargs) + len(node.args.args) == 2


def _depth(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return deepest
