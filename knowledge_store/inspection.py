"""Level 1: the source behind a name, for ``Inspect[name, …]``. Parses, never imports."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from knowledge_store.errors import ParseError
from knowledge_store.memory import OBJECTS, PROCEDURES
from knowledge_store.outline import NEWLINE, Outline, Unit, line_starts, outline
from knowledge_store.scopes import bound_names, flatten
from ocm.types import Files

__all__ = ["Resolved", "names", "resolve"]

MAX_CLOSEST = 3
MAX_LISTED = 20
MAX_ECHO = 80

_WRAPPING = " \t\r\n\f\"'`*"
_CALL = re.compile(r"\(.*\Z", re.DOTALL)
_OBJECTS_PREFIX = re.compile(r"objects(?:\.py)?(?:\.|::|:)")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The answer to an inspect request."""

    found: tuple[str, ...]
    """As the memory calls them: ``OakLog``, ``OakLog.smelt``, ``procedures/craft.py``, ``objects.py``."""
    missing: tuple[str, ...]
    """As they were asked for, short."""
    text: str
    """Source in fenced blocks under the names, then notes. The source in it is at most ``max_chars``."""


def resolve(files: Files, names: Sequence[str], max_chars: int = 8000) -> Resolved:
    """Find the source of classes, ``Class.member``, functions, constants, procedures and files.

    Quotes, backticks, ``name()``, ``objects.name``, and a procedure without folder or suffix are all
    understood. Never raises: what is not found is answered with the closest names.
    """
    found: dict[str, str] = {}
    missing: dict[str, str] = {}
    for asked in dict.fromkeys(names):
        name = _clean(asked)
        hit = _find(files, name)
        if hit is not None:
            found.setdefault(*hit)
        elif name:
            missing.setdefault(name[:MAX_ECHO], _unknown(files, name[:MAX_ECHO]))
    if not found and not missing:
        missing[""] = "No name was given. " + _listing(files)
    blocks = _blocks(files, found, max_chars)
    text = "\n\n".join([*blocks, *dict.fromkeys(missing.values())])
    return Resolved(tuple(found), tuple(name for name in missing if name), text)


def names(files: Files) -> tuple[str, ...]:
    """All that can be asked for: files, top-level names of K_o, and its classes' members."""
    return (*_object_names(files.get(OBJECTS, "")), *sorted(files))


# --- finding -------------------------------------------------------------------------------------


def _clean(asked: str) -> str:
    name = _CALL.sub("", asked.strip(_WRAPPING)).strip(_WRAPPING)
    return _OBJECTS_PREFIX.sub("", name, count=1) if name not in ("objects.py",) else name


def _find(files: Files, name: str) -> tuple[str, str] | None:
    """The canonical name and the source, or None."""
    for path in _paths(name):
        if path in files:
            return path, files[path]
    module = _outline(files.get(OBJECTS, ""))
    source = _source(module, name) if module else None
    if source is not None:
        return name, source
    for path in (f"{PROCEDURES}{name}.py", f"{PROCEDURES}{name}"):
        if path in files:
            return path, files[path]
    return None


def _paths(name: str) -> tuple[str, ...]:
    if name in ("objects", OBJECTS):
        return (OBJECTS,)
    return name, f"{name}.py", name.replace("procedures.", PROCEDURES, 1) + ".py"


def _outline(source: str) -> Outline | None:
    try:
        return outline(source)
    except ParseError:
        return None  # the caller says so, and offers the whole file


def _source(module: Outline, name: str) -> str | None:
    """A top-level name's or a member's source, with decorators and attached comments."""
    first, *rest = name.split(".")
    units = [unit for unit in module.units if first in _top_names(unit)]
    if not units:
        return None
    if not rest:
        return "\n\n".join(module.text(unit) for unit in units)
    members = [text for unit in units for text in _members(module.text(unit)).get(name, ())]
    return "\n".join(dict.fromkeys(members)) or None


def _top_names(unit: Unit) -> dict[str, None]:
    """The unit's names, and those of the functions that stand with it."""
    own = [name for part in unit.parts for name in bound_names(part.node)]
    return dict.fromkeys([*unit.names, *own])


@lru_cache(maxsize=1024)
def _members(text: str) -> dict[str, list[str]]:
    """``Class.member`` -> sources, of the classes in a unit's text; nested classes too."""
    found: dict[str, list[str]] = {}
    starts = line_starts(text)
    lines = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
    stack = [(node, node.name) for node in flatten(ast.parse(text).body) if isinstance(node, ast.ClassDef)]
    while stack:
        owner, path = stack.pop()
        for node in flatten(owner.body):
            source = _statement_lines(lines, node)
            for name in bound_names(node):
                found.setdefault(f"{path}.{name}", []).append(source)
            if isinstance(node, ast.ClassDef):
                stack.append((node, f"{path}.{node.name}"))
    return found


def _statement_lines(lines: Sequence[str], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return "".join(lines[first : node.end_lineno]).rstrip("\r\n")


@lru_cache(maxsize=8)
def _object_names(source: str) -> tuple[str, ...]:
    module = _outline(source)
    if module is None:
        return ()
    found: dict[str, None] = {}
    for unit in module.units:
        if unit.kind == "import":
            continue
        found |= _top_names(unit)
        if any(isinstance(node, ast.ClassDef) for part in unit.parts for node in flatten([part.node])):
            found |= dict.fromkeys(_members(module.text(unit)))
    return tuple(found)


# --- answering -----------------------------------------------------------------------------------


def _unknown(files: Files, name: str) -> str:
    if not any(files.values()):
        return "The memory is empty: there is nothing to inspect."
    source = files.get(OBJECTS, "")
    if _outline(source) is None:
        return (
            f"{name!r} was not found: {OBJECTS} does not parse, so its names cannot be looked up. "
            f"Inspect[{OBJECTS}] shows it whole."
        )
    closest = _closest(name, names(files))
    if closest:
        return f"{name!r} is not in memory. Closest names: {', '.join(closest)}."
    return f"{name!r} is not in memory. {_listing(files)}"


def _closest(name: str, known: Sequence[str]) -> list[str]:
    """By spelling without regard to case, folder and suffix, with the part after the dot as a chance."""
    keys: dict[str, str] = {}
    for candidate in known:
        short = candidate.removeprefix(PROCEDURES).removesuffix(".py").lower()
        keys.setdefault(short, candidate)
        keys.setdefault(short.rpartition(".")[2], candidate)
    wanted = name.removeprefix(PROCEDURES).removesuffix(".py").lower()
    close = difflib.get_close_matches(wanted, keys, n=MAX_CLOSEST, cutoff=0.55)
    close += difflib.get_close_matches(wanted.rpartition(".")[2], keys, n=1, cutoff=0.8)
    return list(dict.fromkeys(keys[key] for key in close))[:MAX_CLOSEST]


def _listing(files: Files) -> str:
    known = [name for name in names(files) if "." not in name or "/" in name or name == OBJECTS]
    if not known:
        return "The memory is empty: there is nothing to inspect."
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    return f"Names in memory: {', '.join(known[:MAX_LISTED])}{more}."


def _blocks(files: Files, found: dict[str, str], room: int) -> list[str]:
    blocks: list[str] = []
    late: list[str] = []
    for name, source in found.items():
        if room <= 0:
            late.append(name)
            continue
        shown = _cut_lines(source, room)
        room -= len(shown)
        blocks.append(f"### {name}\n{_fenced(name, shown)}")
        if len(shown) < len(source):
            room = 0
            blocks.append(_how_to_ask(files, name, source, shown))
    if late:
        blocks.append(f"Not shown for want of room: {', '.join(late)}. Inspect them in another request.")
    return blocks


def _cut_lines(source: str, room: int) -> str:
    """The first ``room`` characters, up to a line end if there is one."""
    if len(source) <= room:
        return source
    ends = [match.end() for match in NEWLINE.finditer(source, 0, room)]
    return source[: ends[-1] if ends else room]


def _fenced(name: str, source: str) -> str:
    longest = max((len(run) for run in re.findall("`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    language = "" if "/" not in name and name.endswith((".md", ".json", ".txt")) else "python"
    return f"{fence}{language}\n{source.rstrip()}\n{fence}"


def _how_to_ask(files: Files, name: str, source: str, shown: str) -> str:
    parts = [other for other in names(files) if other.startswith(f"{name}.")] if name not in files else []
    if name == OBJECTS:
        parts = [other for other in _object_names(source) if "." not in other]
    note = f"{name} is cut here: {len(source) - len(shown)} of {len(source)} characters are not shown."
    if not parts:
        return note
    more = ", …" if len(parts) > MAX_LISTED else ""
    return f"{note} Ask for a part: {', '.join(parts[:MAX_LISTED])}{more}."
