"""Merge an update into ``objects.py`` by top-level name; all other text stays byte for byte.

Decisions, in the words of :mod:`knowledge_store.outline`:

- *Replace.* A definition replaces the last unit that binds exactly its names: that is the one that
  counts after a run. (Functions of one name that become neighbours by it are one unit, and so replaced
  as one.) Its attached comment replaces the old one; without one the old comment stays.
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
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from knowledge_store.editing import Edit, begin
from knowledge_store.errors import MergeError, ParseError
from knowledge_store.outline import NEWLINE, OBJECTS, Outline, Unit, outline, registered_on
from knowledge_store.removal import Ignored, removal, without

__all__ = ["Ignored", "Merged", "merge"]

UPDATE = "the update of objects.py"


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
    gone = removal(before, delete, defined)
    base = _checked(before, set(gone.units), without(before, gone.units))
    text, added, replaced = _put(base, update, wanted)
    ignored += _ignored_docstring(base, update)
    return Merged(
        text=text,
        added=tuple(added),
        replaced=tuple(replaced),
        deleted=gone.deleted,
        unknown=gone.unknown,
        ignored=(*gone.ignored, *sorted(ignored, key=lambda i: i.line)),
    )


MAX_PASSES = 5


def _put(base: Outline, update: Outline, wanted: list[Unit]) -> tuple[str, list[str], list[str]]:
    """The text with the update in it, the names added and the names replaced."""
    last = {name: unit for unit in wanted for name in unit.names}
    if not base.units:
        begun = _checked(base, set(), begin(base, update, wanted), set(last))
        return _settled(begun, update, wanted, last), sorted(last), []
    edit = Edit(base, update, last)
    edit.put(wanted)
    after = _checked(base, edit.gone, edit.text(), set(last))
    return _settled(after, update, wanted, last), edit.added, edit.replaced


def _settled(base: Outline, update: Outline, wanted: list[Unit], last: Mapping[str, Unit]) -> str:
    """The text when putting the update again changes nothing.

    What moved may make another move needful, and what is now neighbours may have become one unit.
    """
    for _ in range(MAX_PASSES):
        edit = Edit(base, update, last)
        edit.put(wanted)
        text = edit.text()
        if text == base.source:
            break
        base = _checked(base, edit.gone, text, set(last))
    return base.source


# --- what the update says ------------------------------------------------------------------------


def _wanted(update: Outline) -> tuple[list[Unit], list[Ignored]]:
    """The units to carry out, and what is left aside with the reason; the docstring is in neither list.

    Backwards, since the last binding of a name counts.
    """
    wanted: list[Unit] = []
    ignored: list[Ignored] = []
    later: dict[str, Unit] = {}
    for unit in reversed(update.units):
        reason = _unfit(unit) or _overridden(update, unit, later)
        if reason:
            ignored.append(Ignored(update.line(unit.core), _describe(update, unit), reason))
        elif unit.kind != "docstring":
            wanted.append(unit)
            for name in unit.names:
                later.setdefault(name, unit)
    return wanted[::-1], ignored[::-1]


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
    if unit.kind == "block" and not all(isinstance(part.node, _MERGED_IN_BLOCKS) for part in unit.parts):
        return "only definitions are merged; write the value as one assignment"
    return ""


_MERGED_IN_BLOCKS = (ast.If, ast.Try, ast.Assign, ast.AnnAssign)


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


def _overridden(update: Outline, unit: Unit, later: Mapping[str, Unit]) -> str:
    if unit.kind == "import":
        return ""  # name by name, in the editing
    for name in unit.names:
        if name in later:
            return f"{name} is bound again at line {update.line(later[name].core)}, which counts"
    return ""


def _describe(source: Outline, unit: Unit) -> str:
    """The unit's first line, short."""
    line = NEWLINE.split(source.source[unit.core : unit.end], maxsplit=1)[0].strip()
    return line if len(line) <= 60 else line[:59] + "…"


def _ignored_docstring(base: Outline, update: Outline) -> Iterable[Ignored]:
    first = update.units[0] if update.units else None
    if not base.units:
        return
    if first and first.kind == "docstring" and base.units[0].kind == "docstring":
        part, own = first.parts[0], base.units[0].parts[0]
        if update.source[part.start : part.end] == base.source[own.start : own.end]:
            return
    if first and first.kind == "docstring":
        yield Ignored(update.line(first.core), _describe(update, first), "objects.py keeps its own docstring")


# --- the promise ---------------------------------------------------------------------------------


def _checked(base: Outline, gone: set[Unit], text: str, defined: Set[str] = frozenset()) -> Outline:
    """The new text's outline, if every statement that was to stay is there as it was, in its order.

    Raises:
        MergeError: it does not parse, or lost a statement, or does not define what it should.
    """
    kept = [
        base.source[part.start : part.end] for unit in base.units if unit not in gone for part in unit.parts
    ]
    try:
        after = outline(text, OBJECTS)
    except ParseError as error:
        raise _broken(f"not parse (line {error.line}: {error.reason})") from error
    found = iter([text[part.start : part.end] for unit in after.units for part in unit.parts])
    for statement in kept:
        if not any(statement == other for other in found):
            raise _broken(f"lose {statement[:60]!r}")
    absent = set(defined) - {name for unit in after.units for name in unit.names}
    if absent:
        raise _broken(f"not define {', '.join(sorted(absent))}")
    return after


def _broken(what: str) -> MergeError:
    return MergeError(
        f"{OBJECTS}: the merged text would {what}; nothing was changed; give the definitions one by one",
        path=OBJECTS,
    )
