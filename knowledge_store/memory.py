"""Memory as files: apply, diff and fold deltas; check paths; measure sizes. Pure functions.

Every method keeps its knowledge as files, so one set of functions versions, compares and sizes all.
OCM keeps K_o in ``objects.py`` and K_p in ``procedures/*.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from knowledge_store.errors import ParseError, PathError
from knowledge_store.outline import OBJECTS, outline
from ocm.identity import sha256
from ocm.types import Change, Delta, Files

__all__ = [
    "ALLOWED_SUFFIXES",
    "OBJECTS",
    "PROCEDURES",
    "Size",
    "apply",
    "check_path",
    "content_hash",
    "diff",
    "fold",
    "procedures",
    "size",
]

PROCEDURES = "procedures/"
ALLOWED_SUFFIXES = (".py", ".md", ".json", ".txt")
MAX_PATH = 200

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that are no files on Windows, where a memory may be restored, too."""
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

content_hash = sha256
"""The address of a file's content: hex SHA-256 of its text in UTF-8."""


def check_path(path: str) -> str:
    """Return ``path`` if a memory may hold it.

    A folder name has no dot, so no file can stand where another path needs a folder.

    Raises:
        PathError: it is absolute, leaves the memory, has a name that is not plain ASCII, or a suffix
            that no memory uses.
    """
    problem = _path_problem(path)
    if problem:
        raise PathError(
            f"{path[:MAX_PATH]!r} cannot be a file of a memory: {problem}; "
            f"use a relative path such as 'procedures/craft_planks.py'",
            path=path,
        )
    return path


def _path_problem(path: str) -> str:
    if not path or len(path) > MAX_PATH:
        return f"a path has 1 to {MAX_PATH} characters"
    if path.startswith("/") or "\\" in path or ":" in path:
        return "it must be relative, with '/' between names"
    *folders, name = path.split("/")
    if "" in folders or not name or {".", ".."} & {*folders, name}:
        return "no name may be empty, '.' or '..'"
    if not all(map(_FOLDER.fullmatch, folders)) or not _FILE.fullmatch(name):
        return "names are ASCII letters, digits, '_' and '-', and a dot in the file's name only"
    if any(map(_DEVICE.fullmatch, (*folders, name))):
        return "names such as con, nul or com1 are devices on Windows"
    if not name.endswith(ALLOWED_SUFFIXES):
        return f"its suffix must be one of {', '.join(ALLOWED_SUFFIXES)}"
    return ""


def _check_content(change: Change) -> None:
    """A lone surrogate (JSON such as ``"\\ud800"`` makes one) could not be written to any file."""
    try:
        (change.content or "").encode()
    except UnicodeEncodeError as error:
        raise PathError(
            f"{change.path}: character {error.start} is a lone surrogate, which is not text; remove it",
            path=change.path,
        ) from error


def apply(files: Files, delta: Delta) -> dict[str, str]:
    """The memory after ``delta``, sorted by path; ``files`` is left as it is.

    Changes are applied in order. A delta says what holds afterwards, so deleting a file that is not
    there changes nothing.

    Raises:
        PathError: a change's path or content is not acceptable.
    """
    result = dict(files)
    for change in delta:
        check_path(change.path)
        if change.content is None:
            result.pop(change.path, None)
        else:
            _check_content(change)
            result[change.path] = change.content
    return dict(sorted(result.items()))


def diff(before: Files, after: Files) -> Delta:
    """The smallest delta from ``before`` to ``after``: one change per differing file, by path."""
    paths = sorted({*before, *after})
    return tuple(Change(path, after.get(path)) for path in paths if before.get(path) != after.get(path))


def fold(deltas: Iterable[Delta]) -> dict[str, str]:
    """The memory that the deltas build up from nothing, first to last."""
    return apply({}, tuple(change for delta in deltas for change in delta))


def procedures(files: Files) -> dict[str, str]:
    """K_p: the Python files under ``procedures/``, sorted by path."""
    return {
        path: text
        for path, text in sorted(files.items())
        if path.startswith(PROCEDURES) and path.endswith(".py")
    }


@dataclass(frozen=True, slots=True)
class Size:
    """How large a memory is."""

    files: int
    bytes: int
    """Of all contents in UTF-8."""
    lines: int
    definitions: int
    """Classes, functions and assignments at the top level of the Python files that parse."""


def size(files: Files) -> Size:
    """Measure a memory."""
    return Size(
        files=len(files),
        bytes=sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values()),
        lines=sum(len(text.splitlines()) for text in files.values()),
        definitions=sum(_definitions(path, text) for path, text in files.items() if path.endswith(".py")),
    )


def _definitions(path: str, text: str) -> int:
    try:
        return len(outline(text, path).definitions())
    except ParseError:
        return 0
