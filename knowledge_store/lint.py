"""What the text of one file breaks, whatever the other files are. Cached by content."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import ParseError
from knowledge_store.outline import outline, parse
from knowledge_store.reachability import Live, live
from knowledge_store.scopes import FUNCTIONS, bound_names

__all__ = ["SHARE", "Finding", "Limits", "Procedure", "objects", "procedure"]

_EVASIONS = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "input", "open"})
_SETTERS = frozenset({"setattr", "delattr"})
_SETTER_METHODS = frozenset({"__setattr__", "__delattr__"})

SHARE = "put what is shared into objects.py"


@dataclass(frozen=True, slots=True)
class Limits:
    """How large model-written knowledge may grow."""

    file_chars: int = 20_000
    """Characters of one procedure."""
    objects_chars: int = 200_000
    """Characters of ``objects.py``."""
    definitions: int = 400
    """Top-level definitions of ``objects.py``."""
    memory_chars: int = 400_000
    """Characters of all files together."""
    procedures: int = 500
    """Procedure files."""
    nesting: int = 100
    """Depth of the syntax tree; code by hand rarely passes 30."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in a file of which only the text is known."""

    line: int
    found: str
    mend: str
    kind: str = "static"
    module: str = ""
    """The module that may not be imported, if that is the problem."""
    builtin: str = ""
    """The built-in that may not be used, if that is the problem."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """What the text of a procedure tells, whatever K_o is."""

    findings: tuple[Finding, ...] = ()
    imported: tuple[tuple[str, int], ...] = ()
    """Names wanted of ``objects``, with the line."""
    used: frozenset[str] = frozenset()
    """Those that live code uses."""
    complete: bool = True
    """False where what it wants of ``objects`` cannot be told: unreadable, or a star import."""


@lru_cache(maxsize=16)
def objects(text: str, limits: Limits) -> tuple[Finding, ...]:
    """Findings in K_o, unit by unit, so that a change costs its own units."""
    if len(text) > limits.objects_chars:
        return (_too_long(text, limits.objects_chars),)
    try:
        module = outline(text)
    except ParseError as error:
        return (_unparsed(error),)
    names = frozenset(name for unit in module.units for name in unit.names)
    found: list[Finding] = []
    for unit in module.units:
        if findings := _unit_findings(text[unit.core : unit.end], limits):
            above = module.line(unit.core) - 1
            found += [replace(f, line=f.line + above) for f in findings if f.builtin not in names]
    count = len(module.definitions())
    if count > limits.definitions:
        found.append(
            Finding(0, f"it has {count} definitions of {limits.definitions}", "merge or delete some")
        )
    return tuple(found)


@lru_cache(maxsize=1024)
def _unit_findings(text: str, limits: Limits) -> tuple[Finding, ...]:
    tree = _readable(text, len(text), limits)
    if isinstance(tree, Finding):
        return (tree,)
    itself = [
        Finding(node.lineno, "objects.py imports itself", "use its names directly")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "objects" in _modules(node)
    ]
    return (*_imports(tree), *_evasions(tree), *itself)


@lru_cache(maxsize=1024)
def procedure(text: str, limits: Limits) -> Procedure:
    """What the text of a procedure tells."""
    tree = _readable(text, limits.file_chars, limits)
    if isinstance(tree, Finding):
        return Procedure((tree,), complete=False)
    aliases, modules, lines = _wanted(tree)
    found = [*_imports(tree), *_evasions(tree), *_changes(tree, {*aliases, *modules})]
    used = _used(live(tree), aliases, modules, tree)
    return Procedure(tuple(found), tuple(lines), used, complete="*" not in aliases)


def _wanted(tree: ast.Module) -> tuple[dict[str, str], set[str], list[tuple[str, int]]]:
    """Local name -> name in ``objects``; local names of the module; wanted names with lines."""
    aliases: dict[str, str] = {}
    modules: set[str] = set()
    lines: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "objects" and not node.level:
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
            lines += [(alias.name, node.lineno) for alias in node.names if alias.name != "*"]
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "objects"}
    lines += [
        (node.attr, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    ]
    return aliases, modules, lines


def _used(found: Live, aliases: dict[str, str], modules: set[str], tree: ast.Module) -> frozenset[str]:
    covered = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, *FUNCTIONS))}
    names = {name for local, name in aliases.items() if local in found.names - covered}
    return frozenset(names | {attr for local, attr in found.attributes if local in modules})


def _changes(tree: ast.Module, shared: set[str]) -> Iterator[Finding]:
    """Assignments to and deletions of what belongs to K_o."""
    for node in ast.walk(tree):
        name: str | None = None
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            name = _root(node)
        elif isinstance(node, ast.Call) and _is_setter(node.func):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            roots = [_root(part) for part in (owner, *node.args[:1]) if part is not None]
            name = next((root for root in roots if root in shared), None)
        if name in shared:
            yield Finding(
                getattr(node, "lineno", 0),
                f"it changes {name}, which is part of objects.py",
                "change a copy, or K_o itself",
            )


def _is_setter(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _SETTERS
    return isinstance(function, ast.Attribute) and function.attr in _SETTER_METHODS


def _root(node: ast.expr) -> str | None:
    """``a`` of ``a.b[c].d``, also through ``vars(a)``."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars":
            if not node.args:
                return None
            node = node.args[0]
        else:
            return node.id if isinstance(node, ast.Name) else None


# --- reading -------------------------------------------------------------------------------------


def _readable(text: str, most: int, limits: Limits) -> ast.Module | Finding:
    """The syntax tree, or why there is none. The size is looked at first: parsing costs memory."""
    if len(text) > most:
        return _too_long(text, most)
    try:
        tree = parse(text)
    except ParseError as error:
        return _unparsed(error)
    deep = _too_deep(tree, limits.nesting)
    if deep:
        return Finding(deep, f"nested more than {limits.nesting} levels deep", "write it flatter")
    return tree


def _too_long(text: str, most: int) -> Finding:
    return Finding(0, f"the file has {len(text)} characters of {most}", "make it shorter")


def _unparsed(error: ParseError) -> Finding:
    return Finding(error.line, error.reason, "write valid Python", "syntax")


def _too_deep(tree: ast.AST, limit: int) -> int:
    """The line at which the tree gets deeper than ``limit``, or 0."""
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return 0
    return next((line for node in level if (line := getattr(node, "lineno", 0))), 1)


# --- imports -------------------------------------------------------------------------------------


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The top-level modules that an import names; ``.`` for a relative one."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return ["." if node.level else (node.module or "").partition(".")[0]]


def _imports(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if any(alias.name == "*" for alias in node.names):
            yield Finding(node.lineno, "a star import hides what it binds", "import by name")
        for module in _modules(node):
            if module in (".", "procedures"):
                yield Finding(node.lineno, "procedures cannot be imported", SHARE)
            elif module not in ALLOWED_MODULES and module != "objects":
                yield Finding(
                    node.lineno,
                    f"module {module!r} is not allowed",
                    f"use only objects and {', '.join(sorted(ALLOWED_MODULES))}",
                    module=module,
                )


def _evasions(tree: ast.Module) -> Iterator[Finding]:
    """Built-ins that get around the rules, unless the name is the file's own."""
    own = {name for node in ast.walk(tree) if isinstance(node, ast.stmt) for name in bound_names(node)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _EVASIONS - own:
            yield Finding(
                node.lineno, f"{node.id} is not allowed", "write plain Python without it", builtin=node.id
            )
