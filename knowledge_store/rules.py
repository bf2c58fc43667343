"""Static rules, checked before anything is executed: hygiene and good messages, never the boundary.

K_o and K_p must parse, keep the size limits and import only allowed modules. A procedure must use a
class or function of ``objects`` in code that runs, and must not change K_o. What hides from these rules
meets the sandbox. Findings are cached by content, so unchanged files cost a look-up.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from knowledge_store.allowed import ALLOWED_MODULES
from knowledge_store.errors import ParseError, PathError
from knowledge_store.memory import OBJECTS, PROCEDURES, check_path
from knowledge_store.outline import FUNCTIONS, Unit, bound_names, outline, parse
from knowledge_store.reachability import Live, live
from ocm.errors import Problem
from ocm.types import Files, Verdict

__all__ = ["Limits", "check"]

MAX_PROBLEMS = 5
"""Problems told per file: a repair mends a few at a time."""

_EVASIONS = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "input", "open"})
_SETTERS = frozenset({"setattr", "delattr"})
_SETTER_METHODS = frozenset({"__setattr__", "__delattr__"})


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
class _Finding:
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
class _Procedure:
    """What the text of a procedure tells, whatever K_o is."""

    findings: tuple[_Finding, ...] = ()
    imported: tuple[tuple[str, int], ...] = ()
    """Names wanted of ``objects``, with the line."""
    used: frozenset[str] = frozenset()
    """Those that live code uses."""
    complete: bool = True
    """False where what it wants of ``objects`` cannot be told: unreadable, or a star import."""


def check(objects: str, procedures: Files, limits: Limits = Limits()) -> tuple[Verdict, ...]:
    """The failures only: one verdict per failing file, ``syntax`` or ``static``, ``objects.py`` first.

    A problem of the memory as a whole is told on ``objects.py``.
    """
    whole = _whole(objects, procedures, limits)
    found = {OBJECTS: (*whole, *_objects(objects, limits))}
    broken = any(finding.kind == "syntax" for finding in found[OBJECTS])
    known, mechanisms = (None, frozenset[str]()) if broken else _exports(objects, limits)
    for path, text in sorted(procedures.items()):
        about = _procedure(text, limits)
        found[path] = (
            *_path(path),
            *_siblings(about.findings, procedures),
            *(() if known is None else _against(about, known, mechanisms)),
        )
    return tuple(_verdict(path, findings) for path, findings in found.items() if findings)


def _verdict(path: str, findings: tuple[_Finding, ...]) -> Verdict:
    ordered = sorted(dict.fromkeys(findings), key=lambda finding: finding.line)
    lines = [
        str(Problem(f"{path}, line {f.line}" if f.line else path, f.found, f.mend))
        for f in ordered[:MAX_PROBLEMS]
    ]
    if len(ordered) > MAX_PROBLEMS:
        lines.append(f"… and {len(ordered) - MAX_PROBLEMS} more problems in {path}")
    kind = "syntax" if any(f.kind == "syntax" for f in ordered) else "static"
    return Verdict(path=path, ok=False, kind=kind, report="\n".join(lines))


# --- sizes and parsing ---------------------------------------------------------------------------


def _whole(objects: str, procedures: Files, limits: Limits) -> Iterator[_Finding]:
    total = len(objects) + sum(map(len, procedures.values()))
    if total > limits.memory_chars:
        yield _Finding(
            0, f"the memory has {total} characters of {limits.memory_chars}", "delete what is not needed"
        )
    if len(procedures) > limits.procedures:
        yield _Finding(
            0, f"the memory has {len(procedures)} procedures of {limits.procedures}", "merge or delete some"
        )


def _path(path: str) -> Iterator[_Finding]:
    try:
        check_path(path)
    except PathError as error:
        yield _Finding(0, error.message, "rename the file")
        return
    if not path.startswith(PROCEDURES) or not path.endswith(".py"):
        yield _Finding(0, "a procedure is a file such as procedures/craft_planks.py", "rename the file")


def _readable(text: str, most: int, limits: Limits) -> ast.Module | _Finding:
    """The syntax tree, or why there is none. The size is looked at first: parsing costs memory."""
    if len(text) > most:
        return _too_long(text, most)
    try:
        tree = parse(text)
    except ParseError as error:
        return _unparsed(error)
    deep = _too_deep(tree, limits.nesting)
    if deep:
        return _Finding(deep, f"nested more than {limits.nesting} levels deep", "write it flatter")
    return tree


def _too_long(text: str, most: int) -> _Finding:
    return _Finding(0, f"the file has {len(text)} characters of {most}", "make it shorter")


def _unparsed(error: ParseError) -> _Finding:
    return _Finding(error.line, error.reason, "write valid Python", "syntax")


def _too_deep(tree: ast.AST, limit: int) -> int:
    """The line at which the tree gets deeper than ``limit``, or 0."""
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return 0
    return next((line for node in level if (line := getattr(node, "lineno", 0))), 1)


@lru_cache(maxsize=16)
def _objects(text: str, limits: Limits) -> tuple[_Finding, ...]:
    """Findings in K_o, unit by unit, so that a change costs its own units."""
    if len(text) > limits.objects_chars:
        return (_too_long(text, limits.objects_chars),)
    try:
        module = outline(text)
    except ParseError as error:
        return (_unparsed(error),)
    names = frozenset(name for unit in module.units for name in unit.names)
    found = [
        replace(finding, line=finding.line + module.line(unit.core) - 1)
        for unit in module.units
        for finding in _unit_findings(text[unit.core : unit.end], limits)
        if finding.builtin not in names
    ]
    count = len(module.definitions())
    if count > limits.definitions:
        found.append(
            _Finding(0, f"it has {count} definitions of {limits.definitions}", "merge or delete some")
        )
    return tuple(found)


@lru_cache(maxsize=4096)
def _unit_findings(text: str, limits: Limits) -> tuple[_Finding, ...]:
    tree = _readable(text, len(text), limits)
    if isinstance(tree, _Finding):
        return (tree,)
    itself = [
        _Finding(node.lineno, "objects.py imports itself", "use its names directly")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "objects" in _modules(node)
    ]
    return (*_imports(tree), *_evasions(tree), *itself)


@lru_cache(maxsize=16)
def _exports(text: str, limits: Limits) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The names of K_o, and those that are more than a literal; None if they cannot be known."""
    if len(text) > limits.objects_chars:
        return None, frozenset()
    try:
        units = outline(text).units
    except ParseError:
        return None, frozenset()
    known = [(name, unit) for unit in units for part in unit.parts for name in bound_names(part.node)]
    return (
        frozenset(name for name, _ in known),
        frozenset(name for name, unit in known if _is_mechanism(unit)),
    )


def _is_mechanism(unit: Unit) -> bool:
    """Whether a unit may bind a class, a function or an object: not a plain literal, not an import."""
    node = unit.parts[0].node
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if value is not None:
        return any(isinstance(inner, ast.Call | ast.Lambda | ast.Name) for inner in ast.walk(value))
    return unit.kind == "block" or isinstance(node, (ast.ClassDef, *FUNCTIONS))


# --- imports -------------------------------------------------------------------------------------


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The top-level modules that an import names; ``.`` for a relative one."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return ["." if node.level else (node.module or "").partition(".")[0]]


def _imports(tree: ast.Module) -> Iterator[_Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if any(alias.name == "*" for alias in node.names):
            yield _Finding(node.lineno, "a star import hides what it binds", "import by name")
        for module in _modules(node):
            if module in (".", "procedures"):
                yield _Finding(node.lineno, "procedures cannot be imported", _SHARE)
            elif module not in ALLOWED_MODULES and module != "objects":
                yield _Finding(
                    node.lineno,
                    f"module {module!r} is not allowed",
                    f"use only objects and {', '.join(sorted(ALLOWED_MODULES))}",
                    module=module,
                )


_SHARE = "put what is shared into objects.py"


def _siblings(findings: tuple[_Finding, ...], procedures: Files) -> Iterator[_Finding]:
    """A plainer word where a module that is not allowed is another procedure."""
    for finding in findings:
        if finding.module and f"{PROCEDURES}{finding.module}.py" in procedures:
            yield _Finding(finding.line, f"{finding.module!r} is another procedure", _SHARE)
        else:
            yield finding


def _evasions(tree: ast.Module) -> Iterator[_Finding]:
    own = {name for node in ast.walk(tree) if isinstance(node, ast.stmt) for name in bound_names(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _EVASIONS - own:
            yield _Finding(
                node.lineno, f"{node.id} is not allowed", "write plain Python without it", builtin=node.id
            )


# --- procedures ----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _procedure(text: str, limits: Limits) -> _Procedure:
    tree = _readable(text, limits.file_chars, limits)
    if isinstance(tree, _Finding):
        return _Procedure((tree,), complete=False)
    aliases, modules, lines = _wanted(tree)
    found = [*_imports(tree), *_evasions(tree), *_changes(tree, {*aliases, *modules})]
    used = _used(live(tree), aliases, modules, tree)
    return _Procedure(tuple(found), tuple(lines), used, complete="*" not in aliases)


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


def _changes(tree: ast.Module, shared: set[str]) -> Iterator[_Finding]:
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
            yield _Finding(
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


def _against(about: _Procedure, known: frozenset[str], mechanisms: frozenset[str]) -> Iterator[_Finding]:
    """What is wrong with a procedure given the names of K_o."""
    if not about.complete:
        return
    unknown = dict.fromkeys((name, line) for name, line in about.imported if name not in known)
    for name, line in unknown:
        close = difflib.get_close_matches(name, known, n=3)
        mend = f"did you mean {', '.join(close)}?" if close else "define it in objects.py, or import another"
        yield _Finding(line, f"objects.py has no {name}", mend)
    if unknown or about.used & mechanisms:
        return
    if not about.imported:
        yield _Finding(
            0, "it imports nothing from objects", "import and use a class or function of objects.py"
        )
    elif about.used:
        yield _Finding(0, f"it uses only constants of objects ({_few(about.used)})", _EXERCISE)
    else:
        names = frozenset(name for name, _ in about.imported)
        yield _Finding(0, f"it imports {_few(names)} but uses none of it in code that runs", _EXERCISE)


_EXERCISE = "call a class or function of objects.py at module level, or in a function that is called there"


def _few(names: frozenset[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")
