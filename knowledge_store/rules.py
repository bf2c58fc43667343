"""Static rules, checked before anything is executed: hygiene and good messages, never the boundary.

K_o and K_p must parse, keep the size limits and import only allowed modules. A procedure must use a
class or function of ``objects`` in code that runs, and must not change K_o. What hides from these rules
meets the sandbox. Findings are cached by content, so unchanged files cost a look-up.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from functools import lru_cache

from knowledge_store.errors import ParseError, PathError
from knowledge_store.lint import SHARE, Finding, Limits, Procedure
from knowledge_store.lint import objects as lint_objects
from knowledge_store.lint import procedure as lint_procedure
from knowledge_store.memory import OBJECTS, PROCEDURES, check_path
from knowledge_store.memory import procedures as procedures_of
from knowledge_store.outline import Unit, outline
from knowledge_store.scopes import FUNCTIONS, bound_names
from ocm.errors import Problem
from ocm.types import Files, Verdict

__all__ = ["Limits", "check", "whole_problems"]

DEFAULT_LIMITS = Limits()
MAX_PROBLEMS = 5
"""Problems told per file: a repair mends a few at a time."""


def check(
    objects: str, procedures: Files, limits: Limits = DEFAULT_LIMITS, *, needs_objects: bool = True
) -> tuple[Verdict, ...]:
    """The failures only: one verdict per failing file, ``syntax`` or ``static``, ``objects.py`` first.

    A problem of the memory as a whole is told on ``objects.py``.

    Args:
        needs_objects: every procedure must use a class or function of K_o. False where a method keeps no
            K_o, so that procedures stand alone.
    """
    whole = _whole(objects, procedures, limits)
    found = {OBJECTS: (*whole, *lint_objects(objects, limits))}
    broken = any(finding.kind == "syntax" for finding in found[OBJECTS])
    known, mechanisms = (None, frozenset[str]()) if broken else _exports(objects, limits)
    for path, text in sorted(procedures.items()):
        about = lint_procedure(text, limits)
        found[path] = (
            *_path(path),
            *_siblings(about.findings, procedures),
            *(() if known is None else _unknown(about, known)),
            *(_unused(about, known, mechanisms) if known is not None and needs_objects else ()),
        )
    return tuple(_verdict(path, findings) for path, findings in found.items() if findings)


def _verdict(path: str, findings: tuple[Finding, ...]) -> Verdict:
    ordered = sorted(dict.fromkeys(findings), key=lambda finding: finding.line)
    lines = [
        str(Problem(f"{path}, line {f.line}" if f.line else path, f.found, f.mend))
        for f in ordered[:MAX_PROBLEMS]
    ]
    if len(ordered) > MAX_PROBLEMS:
        lines.append(f"… and {len(ordered) - MAX_PROBLEMS} more problems in {path}")
    kind = "syntax" if any(f.kind == "syntax" for f in ordered) else "static"
    return Verdict(path=path, ok=False, kind=kind, report="\n".join(lines))


# --- the memory as a whole -----------------------------------------------------------------------


def whole_problems(files: Files, limits: Limits = DEFAULT_LIMITS) -> list[str]:
    """Why the memory as a whole is too large; empty where it is not."""
    found = _whole(files.get(OBJECTS, ""), procedures_of(files), limits)
    return [f"{one.found}: {one.mend}" for one in found]


def _whole(objects: str, procedures: Files, limits: Limits) -> Iterator[Finding]:
    total = len(objects) + sum(map(len, procedures.values()))
    if total > limits.memory_chars:
        yield Finding(
            0, f"the memory has {total} characters of {limits.memory_chars}", "delete what is not needed"
        )
    if len(procedures) > limits.procedures:
        yield Finding(
            0, f"the memory has {len(procedures)} procedures of {limits.procedures}", "merge or delete some"
        )


def _path(path: str) -> Iterator[Finding]:
    try:
        check_path(path)
    except PathError as error:
        yield Finding(0, error.message, "rename the file")
        return
    if not path.startswith(PROCEDURES) or not path.endswith(".py"):
        yield Finding(0, "a procedure is a file such as procedures/craft_planks.py", "rename the file")


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


def _siblings(findings: tuple[Finding, ...], procedures: Files) -> Iterator[Finding]:
    """A plainer word where a module that is not allowed is another procedure."""
    for finding in findings:
        if finding.module and f"{PROCEDURES}{finding.module}.py" in procedures:
            yield Finding(finding.line, f"{finding.module!r} is another procedure", SHARE)
        else:
            yield finding


# --- a procedure against K_o ---------------------------------------------------------------------


def _unknown(about: Procedure, known: frozenset[str]) -> Iterator[Finding]:
    """Names that K_o does not have."""
    for name, line in dict.fromkeys(about.imported):
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=3)
            mend = (
                f"did you mean {', '.join(close)}?" if close else "define it in objects.py, or import another"
            )
            yield Finding(line, f"objects.py has no {name}", mend)


def _unused(about: Procedure, known: frozenset[str], mechanisms: frozenset[str]) -> Iterator[Finding]:
    """That no class or function of K_o is used; silent where an unknown name is the trouble."""
    names = frozenset(name for name, _ in about.imported)
    if not about.complete or names - known or about.used & mechanisms:
        return
    if not names:
        mend = "import and use a class or function of objects.py"
        yield Finding(0, "it imports nothing from objects", mend)
    elif about.used:
        yield Finding(0, f"it uses only constants of objects ({_few(about.used)})", _EXERCISE)
    else:
        yield Finding(0, f"it imports {_few(names)} but uses none of it in code that runs", _EXERCISE)


_EXERCISE = "call a class or function of objects.py at module level, or in a function that is called there"


def _few(names: frozenset[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")
