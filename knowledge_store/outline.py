"""A module's text as a row of top-level units, each with its exact place. Parses, never imports.

A *unit* is what merge, signatures and inspection work on:

- one class, function, assignment or import;
- neighbouring functions of one name (overloads, or a function with the ``@name.register`` functions
  that follow it) together;
- a block (``if``, ``try``, ``with``, a loop) with all the names it binds;
- statements joined by ``;`` on one line.

To a unit belong the comment lines directly above it (no blank line between), the comment at the end of
its last line, and indented comment lines below a body.

The text is cut at lines that start in the first column; a cut that does not parse alone is joined with
what follows. Each cut is parsed once and cached by its text, so the work after an edit is the edit's.
A text that is a row of complete programs parses to the row of their statements, so this equals parsing
the whole.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from knowledge_store.errors import ParseError
from knowledge_store.scopes import FUNCTIONS, KEPT, Function, bound_names, drop_bodies, is_docstring

OBJECTS = "objects.py"

NEWLINE = re.compile(r"\r\n|\r|\n")
"""What Python's tokenizer takes for a line end; ``str.splitlines`` knows more, such as form feeds."""

_CUT = re.compile(r"\n(?=[^\s#\])}])(?!(?:else|elif|except|finally)\b)")
_TRIVIA = re.compile(r"(?:[ \t\f;]|\\(?>\r\n|\r|\n)|#[^\r\n]*|\r\n|\r|\n)*")
_JOIN = re.compile(r"(?:[ \t\f;]|\\(?>\r\n|\r|\n))*")
_TAIL = re.compile(r"[ \t\f;]*(?:#[^\r\n]*)?")
_INDENTED_COMMENTS = re.compile(r"(?:(?:(?>\r\n|\r|\n)[ \t]*)*(?>\r\n|\r|\n)[ \t]+#[^\r\n]*)+")
_FILE_COMMENT = re.compile(r"#!|#.*?coding[:=]")

Kind = Literal["docstring", "import", "definition", "block", "other"]


@dataclass(frozen=True, slots=True)
class Part:
    """One statement with its offsets in the text; ``start`` is at its first decorator's ``@``.

    Functions in ``node`` have no body but their docstring.
    """

    node: ast.stmt
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that stand and fall together. Offsets count characters of the module's text."""

    kind: Kind
    names: tuple[str, ...]
    """What it binds, sorted; ``import os.path`` counts as ``os.path``."""
    parts: tuple[Part, ...]
    start: int
    """Where its attached comment begins, or ``core``."""
    core: int
    """Where its first statement begins."""
    end: int
    """The end of its last line, before the line end."""


@dataclass(frozen=True)
class Outline:
    """A module that parses."""

    source: str
    units: tuple[Unit, ...]

    def text(self, unit: Unit) -> str:
        """The unit's source with decorators and attached comments."""
        return self.source[unit.start : unit.end]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self._line_starts, offset)

    @cached_property
    def _line_starts(self) -> list[int]:
        """Found once: a module of thousands of equal lines would else be read thousands of times."""
        return line_starts(self.source)

    def effective(self) -> dict[str, Unit]:
        """For each top-level name the last unit that binds it: the one that counts after a run."""
        return {name: unit for unit in self.units for name in unit.names}

    def definitions(self) -> tuple[str, ...]:
        """The top-level names that are not mere imports, in the order of their last binding's unit."""
        return tuple(name for name, unit in self.effective().items() if unit.kind != "import")


def parse(source: str, path: str = OBJECTS) -> ast.Module:
    """Parse a whole file.

    Raises:
        ParseError: not Python, or nested more deeply than the parser can take.
    """
    try:
        return _parse(source)
    except SyntaxError as error:
        line, reason = error.lineno or 0, error.msg or "invalid syntax"
    except (RecursionError, MemoryError):
        line, reason = 0, "nested too deeply"
    except ValueError as error:
        line, reason = 0, str(error)
    where = f"{path}, line {line}" if line else path
    raise ParseError(f"{where}: {reason}; give valid Python", path=path, line=line, reason=reason)


def _parse(source: str) -> ast.Module:
    # A doubtful escape such as "\d" only warns; under "-W error" it would become a syntax error.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def outline(source: str, path: str = OBJECTS) -> Outline:
    """The units of a module.

    Raises:
        ParseError: the source does not parse.
    """
    found = _outline(source)
    if found is None:
        parse(source, path)
        raise ParseError(f"{path}: cannot be parsed in pieces; give valid Python", path=path, line=0)
    return found


@lru_cache(maxsize=16)
def _outline(source: str) -> Outline | None:
    statements = _statements(source)
    return None if statements is None else Outline(source, tuple(_units(source, statements)))


# --- cutting and parsing -------------------------------------------------------------------------


def _cuts(source: str) -> list[int]:
    """Offsets where a statement may begin; a decorator stays with the line after it."""
    cuts = [0]
    decorator = source.startswith("@")
    for match in _CUT.finditer(source):
        offset = match.end()
        if not decorator:
            cuts.append(offset)
        decorator = source.startswith("@", offset)
    return cuts


def _statements(source: str) -> list[tuple[ast.stmt, int]] | None:
    """All top-level statements with their end offsets, or None if the source does not parse.

    A piece that does not parse alone (its string or bracket goes on) is widened by doubling, so the
    whole stays linear.
    """
    bounds = [*_cuts(source), len(source)]
    found: list[tuple[ast.stmt, int]] = []
    at, last = 0, len(bounds) - 1
    while at < last:
        width = 1
        while (parsed := _parse_piece(source[bounds[at] : bounds[min(at + width, last)]])) is None:
            if at + width >= last:
                return None
            width *= 2
        found += [(node, bounds[at] + end) for node, end in parsed]
        at = min(at + width, last)
    return found


@lru_cache(maxsize=KEPT)
def _parse_piece(piece: str) -> tuple[tuple[ast.stmt, int], ...] | None:
    """The statements of a piece with their end offsets. The nodes are shared: never change one.

    Function bodies are dropped. Nobody needs them here, and they are most of a tree: kept, they would
    cost memory and slow each garbage collection.
    """
    try:
        body = _parse(piece).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the caller widens the piece, and reports when the whole does not parse
    starts = line_starts(piece)
    ends = [_end_offset(piece, starts, node) for node in body]
    drop_bodies(body)
    return tuple(zip(body, ends, strict=True))


def line_starts(source: str) -> list[int]:
    """The offset of each line's first character."""
    return [0, *(match.end() for match in NEWLINE.finditer(source))]


def _end_offset(source: str, starts: list[int], node: ast.stmt) -> int:
    """Python counts columns in UTF-8 bytes; we count characters."""
    line, column = (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0
    start = starts[line]
    if source.isascii():
        return start + column
    stop = starts[line + 1] if line + 1 < len(starts) else len(source)
    return start + len(source[start:stop].encode()[:column].decode())


# --- units ---------------------------------------------------------------------------------------


def _units(source: str, statements: list[tuple[ast.stmt, int]]) -> Iterator[Unit]:
    groups = _groups(source, statements)
    start = _gap(source[: groups[0][0].start], top=True)[1] if groups else 0
    for index, parts in enumerate(groups):
        last = parts[-1]
        below = groups[index + 1][0].start if index + 1 < len(groups) else len(source)
        tail, comment = _gap(source[last.end : below], body=hasattr(last.node, "body"))
        kind, names = _nature(tuple(part.node for part in parts))
        if index == 0 and len(parts) == 1 and is_docstring(last.node):
            kind = "docstring"
        yield Unit(kind, names, tuple(parts), start, parts[0].start, last.end + tail)
        start = last.end + comment


def _groups(source: str, statements: list[tuple[ast.stmt, int]]) -> list[list[Part]]:
    groups: list[list[Part]] = []
    position = 0
    for node, end in statements:
        match = _TRIVIA.match(source, position)
        part = Part(node, match.end() if match else position, end)
        if groups and _belongs(source, groups[-1][-1], part):
            groups[-1].append(part)
        else:
            groups.append([part])
        position = end
    return groups


def _belongs(source: str, last: Part, part: Part) -> bool:
    """Whether a statement goes into the unit before it: joined by ``;``, or a function of its name."""
    gap = source[last.end : part.start]
    if ";" in gap and _JOIN.fullmatch(gap):
        return True
    key = _function_key(part.node)
    return key is not None and key == _function_key(last.node)


def _function_key(node: ast.stmt) -> str | None:
    """The name a function stands for: its own, or ``f`` for ``@f.register def _``."""
    if not isinstance(node, FUNCTIONS):
        return None
    if node.name == "_":
        return registered_on(node) or node.name
    return node.name


def registered_on(node: Function) -> str | None:
    """``f`` if a decorator is ``f.something`` or ``f.something(…)``."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            return target.value.id
    return None


@lru_cache(maxsize=KEPT)
def _nature(nodes: tuple[ast.stmt, ...]) -> tuple[Kind, tuple[str, ...]]:
    """Kind and names of a unit. Nodes are equal by identity: a sound cache key."""
    keys = [_function_key(node) for node in nodes]
    if keys[0] is not None:
        return "definition", (keys[0],)
    names = tuple(sorted({name for node in nodes for name in bound_names(node)}))
    if len(nodes) > 1 or not isinstance(nodes[0], (*_SIMPLE, ast.Import, ast.ImportFrom)):
        return ("block" if names else "other"), names
    if isinstance(nodes[0], ast.Import | ast.ImportFrom):
        return "import", names
    return ("definition" if names else "other"), names


_ALIAS = getattr(ast, "TypeAlias", ast.AnnAssign)  # ``type X = …`` exists since Python 3.12
_SIMPLE = (ast.ClassDef, *FUNCTIONS, ast.Assign, ast.AnnAssign, _ALIAS)


@lru_cache(maxsize=1024)
def _gap(gap: str, body: bool = False, top: bool = False) -> tuple[int, int]:
    """Divide the text between two statements: where the unit above ends, where the next begins.

    Args:
        body: the statement above has a body, so indented comments are its own.
        top: nothing is above; the gap is the file's head.
    """
    tail = _TAIL.match(gap)
    above = 0 if top or tail is None else tail.end()
    comments = _INDENTED_COMMENTS.match(gap, above) if body else None
    above = comments.end() if comments else above
    return above, _comment_start(gap, above, top)


def _comment_start(gap: str, above: int, top: bool) -> int:
    """Where the comment lines directly above the gap's end begin; its end if there are none."""
    starts = [above, *(match.end() for match in NEWLINE.finditer(gap, above))]
    start = len(gap)
    if gap[starts[-1] :].strip(" \t\f"):
        return start
    # The first stretch is the rest of the line above, unless this is the file's head.
    for index in range(len(starts) - 2, -1 if top else 0, -1):
        line = gap[starts[index] : starts[index + 1]]
        comment = line.lstrip(" \t\f")
        is_file_comment = top and index < 2 and _FILE_COMMENT.match(comment)
        if is_file_comment or not (comment.startswith("#") or comment.rstrip("\r\n") == "\\"):
            break
        start = starts[index] + len(line) - len(comment)
    return start
