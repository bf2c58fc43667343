"""Merge an update into ``objects.py`` by top-level name; all other text stays byte for byte.

Decisions, in the words of :mod:`knowledge_store.outline`:

- *Replace.* A definition replaces the last unit that binds exactly its names: that is the one that
  counts after a run. Its attached comment replaces the old one; without one the old comment stays.
- *Blocks.* A name bound in a block (``if``, ``try``, a loop, ``a, b = …``, ``a = 1; b = 2``) belongs to
  the block. The block stays, and the new definition is put directly after it. An ``if`` or ``try``
  block of the update is a definition of its names.
- *Add.* A new name goes to the end after two blank lines. Comments of the update that are attached to
  no definition are dropped, unless ``objects.py`` has no statement yet: then the update is taken whole.
- *Order.* Where that place would surely be a ``NameError`` at import, :mod:`knowledge_store.placement`
  chooses another.
- *Imports.* What is not there yet is added as a line of its own after the first imports (else after the
  docstring, else at the top).
- *Docstring.* The update's docstring is taken only when ``objects.py`` has no statement yet.
- *Twice.* A name that the update binds twice counts as its last binding. A name both defined and deleted
  is defined.
- *Delete.* The unit goes with its attached comment and, when a blank line or nothing follows, up to two
  blank lines above it. So deleting what was appended restores the bytes of a text that ended with a line
  end. A block goes only when all its names are deleted.
- *Line ends* of new text follow the first line end of ``objects.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from knowledge_store.errors import MergeError
from knowledge_store.outline import NEWLINE, OBJECTS, Outline, Unit, outline, registered_on

__all__ = ["Ignored", "Merged", "merge"]

UPDATE = "the update of objects.py"
_BLANK_ABOVE = re.compile(r"(?:(?<=[\r\n])[ \t]*(?>\r\n|\r|\n)){0,2}\Z")
_BLANK_BELOW = re.compile(r"(?:[ \t]*(?>\r\n|\r|\n))*")


@dataclass(frozen=True, slots=True)
class Ignored:
    """A part of an update that was not carried out, and why."""

    line: int
    """1-based, in the update; for a deletion, in ``objects.py``."""
    what: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge's result. ``text`` parses, and differs from the old only in the names listed."""

    text: str
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Names to delete that nothing binds."""
    ignored: tuple[Ignored, ...] = ()


def merge(objects: str, definitions: str, delete: Sequence[str] = ()) -> Merged:
    """Put the definitions of an update into ``objects.py``, and delete names from it.

    Merging the same update again changes nothing.

    Raises:
        ParseError: either side does not parse; ``details`` tell which (``path``), ``line`` and ``reason``.
        MergeError: the result would not parse or would change what the update does not name.
    """
    update, before = outline(definitions, UPDATE), outline(objects, OBJECTS)
    wanted, ignored = _wanted(update)
    defined = {name for unit in wanted for name in unit.names}
    removal = _removal(before, delete, defined)
    base = outline(_without(before, removal.units), OBJECTS)
    edit = _Edit(base, update)
    if base.units:
        for unit in wanted:
            edit.put(unit)
        ignored += _ignored_docstring(base, update)
        text, added, replaced = edit.text(), edit.added, edit.replaced
    else:
        text, added, replaced = _begin(base, update, wanted), sorted(defined), []
    _check(base, edit.gone, text, defined)
    return Merged(
        text=text,
        added=tuple(added),
        replaced=tuple(replaced),
        deleted=removal.deleted,
        unknown=removal.unknown,
        ignored=(*removal.ignored, *sorted(ignored, key=lambda i: i.line)),
    )


# --- what the update says ------------------------------------------------------------------------


def _wanted(update: Outline) -> tuple[list[Unit], list[Ignored]]:
    """The units to carry out, and what is left aside with the reason; the docstring is in neither."""
    wanted, ignored = [], []
    last = update.effective()
    for unit in update.units:
        reason = _unfit(unit) or _overridden(update, unit, last)
        if reason:
            ignored.append(Ignored(update.line(unit.core), _describe(update, unit), reason))
        elif unit.kind != "docstring":
            wanted.append(unit)
    return wanted, ignored


def _unfit(unit: Unit) -> str:
    node = unit.parts[0].node
    if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
        return "a star import hides what it binds; import by name"
    if _imports_objects(node):
        return "objects.py cannot import itself; its names are there already"
    if unit.kind == "definition":
        return _register_without_function(unit)
    if unit.kind == "other":
        return "it binds no name; only definitions are merged"
    if unit.kind == "block" and isinstance(node, ast.If) and _is_main_test(node.test):
        return "objects.py is never run as a script"
    if unit.kind == "block" and isinstance(node, ast.For | ast.While | ast.With | ast.Match):
        return "only definitions are merged; write the value as one assignment"
    return ""


def _imports_objects(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "objects"
    return isinstance(node, ast.Import) and any(alias.name == "objects" for alias in node.names)


def _register_without_function(unit: Unit) -> str:
    node = unit.parts[0].node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "_" and registered_on(node):
        return (
            f"it registers on {unit.names[0]}; give {unit.names[0]} whole, with all its registered functions"
        )
    return ""


def _is_main_test(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _overridden(update: Outline, unit: Unit, last: dict[str, Unit]) -> str:
    if unit.kind == "import":
        return ""  # name by name, in _Edit._put_import
    for name in unit.names:
        if last[name] is not unit:
            return f"{name} is bound again at line {update.line(last[name].core)}, which counts"
    return ""


def _describe(source: Outline, unit: Unit) -> str:
    """The unit's first line, short."""
    line = NEWLINE.split(source.source[unit.core : unit.end], maxsplit=1)[0].strip()
    return line if len(line) <= 60 else line[:59] + "…"


def _ignored_docstring(base: Outline, update: Outline) -> Iterable[Ignored]:
    first = update.units[0] if update.units else None
    if first and first.kind == "docstring" and base.units[0].kind == "docstring":
        part, own = first.parts[0], base.units[0].parts[0]
        if update.source[part.start : part.end] == base.source[own.start : own.end]:
            return
    if first and first.kind == "docstring":
        yield Ignored(update.line(first.core), _describe(update, first), "objects.py keeps its own docstring")


# --- deleting ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Removal:
    units: tuple[Unit, ...]
    deleted: tuple[str, ...]
    unknown: tuple[str, ...]
    ignored: tuple[Ignored, ...]


def _removal(before: Outline, delete: Sequence[str], defined: set[str]) -> _Removal:
    """Which units go: those all of whose names are deleted."""
    names = list(dict.fromkeys(delete))
    doomed = set(names) - defined
    holders = [unit for unit in before.units if doomed & set(unit.names)]
    kept = [unit for unit in holders if not doomed.issuperset(unit.names)]
    still = {name: unit for unit in kept for name in unit.names}
    bound = {name for unit in holders for name in unit.names}
    ignored = [
        Ignored(before.line(still[name].core), f"deleting {name}", _shared(still[name], name))
        for name in names
        if name in still
    ]
    ignored += [
        Ignored(0, f"deleting {name}", "the same update defines it") for name in names if name in defined
    ]
    return _Removal(
        units=tuple(unit for unit in holders if doomed.issuperset(unit.names)),
        deleted=tuple(name for name in names if name in bound and name not in still and name in doomed),
        unknown=tuple(name for name in names if name in doomed and name not in bound),
        ignored=tuple(ignored),
    )


def _shared(unit: Unit, name: str) -> str:
    others = ", ".join(other for other in unit.names if other != name)
    return f"it is bound together with {others}; delete all of them, or define it anew"


def _without(source: Outline, units: Iterable[Unit]) -> str:
    text = source.source
    for unit in sorted(units, key=lambda unit: unit.start, reverse=True):
        text = _cut(text, unit)
    return text


def _cut(text: str, unit: Unit) -> str:
    """Remove a unit's lines and the blank lines that set it off."""
    below = NEWLINE.match(text, unit.end)
    stop = below.end() if below else unit.end
    blank = _BLANK_BELOW.match(text, stop)
    after_blank = blank.end() if blank else stop
    if not text[: unit.start].strip(" \t"):
        return text[: unit.start] + text[after_blank:]
    start = unit.start
    if after_blank > stop or after_blank == len(text):
        above = _BLANK_ABOVE.search(text, max(0, start - _WINDOW), start)
        start = above.start() if above else start
    return text[:start] + text[stop:]


_WINDOW = 200  # blank lines above a unit are sought in so many characters, to stay linear


# --- putting -------------------------------------------------------------------------------------


@dataclass
class _Edit:
    """Collects replacements of stretches of ``base``, then writes the new text once."""

    base: Outline
    update: Outline
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.effective = self.base.effective()
        self.newline = _newline(self.base.source, self.update.source)
        self.edits: list[tuple[int, int, str]] = []
        self.appended: list[Unit] = []
        self.gone: set[Unit] = set()

    def put(self, unit: Unit) -> None:
        if unit.kind == "import":
            self._put_import(unit)
            return
        holders = [self.effective[name] for name in unit.names if name in self.effective]
        if not holders:
            self.added += unit.names
            self.appended.append(unit)
            return
        self.replaced += [name for name in unit.names if name in self.effective]
        self.added += [name for name in unit.names if name not in self.effective]
        holder = max(holders, key=lambda holder: holder.start)
        if holder.names == unit.names:
            self.gone.add(holder)
            start = holder.start if unit.start < unit.core else holder.core
            self.edits.append((start, holder.end, self._own(self.update.text(unit))))
        else:
            self.edits.append((holder.end, holder.end, self.newline + self._own(self.update.text(unit))))

    def _put_import(self, unit: Unit) -> None:
        last = self.update.effective()
        missing = [
            alias
            for alias in _import_node(unit).names
            if last[alias.asname or alias.name] is unit and not self._has_import(unit, alias)
        ]
        new = [alias for alias in missing if (alias.asname or alias.name) not in self.effective]
        if new:
            self.added += [alias.asname or alias.name for alias in new]
            self._add_import(unit, self._own(self._import_text(unit, new)))
        for alias in missing:
            if alias not in new:
                self._rebind_import(unit, alias)

    def _has_import(self, unit: Unit, alias: ast.alias) -> bool:
        holder = self.effective.get(alias.asname or alias.name)
        wanted = _import_key(_import_node(unit), alias)
        return holder is not None and any(
            _import_key(node, other) == wanted
            for part in holder.parts
            for node in ast.walk(part.node)
            if holder.kind in ("import", "block") and isinstance(node, ast.Import | ast.ImportFrom)
            for other in node.names
        )

    def _import_text(self, unit: Unit, aliases: list[ast.alias]) -> str:
        node = _import_node(unit)
        if len(aliases) == len(node.names):
            return self.update.source[unit.core : unit.end]
        if isinstance(node, ast.Import):
            return ast.unparse(ast.Import(aliases))
        return ast.unparse(ast.ImportFrom(node.module, aliases, node.level))

    def _add_import(self, unit: Unit, text: str) -> None:
        node = _import_node(unit)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        above = _header(self.base, future)
        if above is None:
            place = self.base.units[0].start
            gap = self.newline if self.base.units[0].kind == "import" else self.newline * 3
            self.edits.append((place, place, text + gap))
        else:
            gap = self.newline if above.kind == "import" else self.newline * 2
            self.edits.append((above.end, above.end, gap + text))

    def _rebind_import(self, unit: Unit, alias: ast.alias) -> None:
        name = alias.asname or alias.name
        holder = self.effective[name]
        text = self._import_text(unit, [alias])
        self.replaced.append(name)
        if holder.names == (name,):
            self.gone.add(holder)
            self.edits.append((holder.core, holder.end, text))
        else:
            self.edits.append((holder.end, holder.end, self.newline + text))

    def _own(self, text: str) -> str:
        return NEWLINE.sub(self.newline, text)

    def text(self) -> str:
        pieces, position = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            pieces += [self.base.source[position:start], text]
            position = end
        pieces.append(self.base.source[position:])
        return "".join(pieces) + self._tail()

    def _tail(self) -> str:
        """The new definitions at the end, as close to each other as the update has them."""
        pieces = [] if self.base.source.endswith(("\n", "\r")) or not self.appended else [self.newline]
        previous: Unit | None = None
        for unit in self.appended:
            pieces += [
                self.newline * self._blank_lines(previous, unit),
                self._own(self.update.text(unit)),
                self.newline,
            ]
            previous = unit
        return "".join(pieces)

    def _blank_lines(self, previous: Unit | None, unit: Unit) -> int:
        gap = self.update.source[previous.end : unit.start] if previous else "#"
        return 2 if gap.strip() else min(2, len(NEWLINE.findall(gap)) - 1)


def _import_node(unit: Unit) -> ast.Import | ast.ImportFrom:
    node = unit.parts[0].node
    assert isinstance(node, ast.Import | ast.ImportFrom)
    return node


def _import_key(
    node: ast.Import | ast.ImportFrom, alias: ast.alias
) -> tuple[str | None, int, str, str | None]:
    if isinstance(node, ast.ImportFrom):
        return node.module or "", node.level, alias.name, alias.asname
    return None, 0, alias.name, alias.asname


def _header(base: Outline, future: bool) -> Unit | None:
    """The unit after which a new import goes: the last of the first imports, or the docstring."""
    above: Unit | None = None
    for unit in base.units:
        node = unit.parts[0].node
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if unit.kind != "docstring" and not (unit.kind == "import" and (is_future or not future)):
            break
        above = unit
    return above


def _newline(*texts: str) -> str:
    """The first line end in the first text that has one."""
    found = [match.group() for text in texts if (match := NEWLINE.search(text))]
    return found[0] if found else "\n"


def _begin(base: Outline, update: Outline, wanted: list[Unit]) -> str:
    """The text when ``objects.py`` has no statement yet: the update without what is ignored."""
    if not wanted:
        return base.source
    taken = set(wanted)
    dropped = [unit for unit in update.units if unit not in taken and unit.kind != "docstring"]
    newline = _newline(base.source, update.source)
    body = NEWLINE.sub(newline, _without(update, dropped)).strip("\r\n")
    if not base.source:
        return body + newline
    ended = "" if base.source.endswith(("\n", "\r")) else newline
    return base.source + ended + newline * 2 + body + newline


# --- the promise ---------------------------------------------------------------------------------


def _check(base: Outline, gone: set[Unit], text: str, defined: set[str]) -> None:
    """The result parses, and every statement that was not replaced is there as it was, in its order."""
    after = outline(text, OBJECTS)
    found = iter([text[part.start : part.end] for unit in after.units for part in unit.parts])
    kept = [
        base.source[part.start : part.end] for unit in base.units if unit not in gone for part in unit.parts
    ]
    lost = [statement for statement in kept if not any(statement == other for other in found)]
    absent = defined - {name for unit in after.units for name in unit.names}
    if lost or absent:
        what = f"lose {lost[0][:60]!r}" if lost else f"not define {', '.join(sorted(absent))}"
        raise MergeError(
            f"{OBJECTS}: merging would {what}; nothing was changed; give the definitions one by one",
            path=OBJECTS,
        )
