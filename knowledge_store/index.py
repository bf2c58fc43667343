"""The Level-0 prompt section: Sig(K_o) and the index of procedures, within a token budget."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from knowledge_store.errors import ParseError
from knowledge_store.memory import OBJECTS, PROCEDURES, procedures
from knowledge_store.outline import Outline, outline
from knowledge_store.signatures import INDENT, Signature, first_line, of_outline, render, structure
from ocm.types import Files

__all__ = ["Level0", "Procedure", "estimate_tokens", "index", "level0"]

OBJECTS_TITLE = f"## Object knowledge ({OBJECTS})"
PROCEDURES_TITLE = f"## Procedures ({PROCEDURES})"
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Level0:
    """What the acting prompt says about a memory."""

    text: str
    """Empty when the memory has neither objects nor procedures."""
    tokens: int
    """Estimated, see :func:`estimate_tokens`."""
    summarised: tuple[str, ...] = ()
    """Procedure paths and class names that are given by name only, for want of room."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """One entry of the index of K_p."""

    path: str
    summary: str
    functions: tuple[Signature, ...]
    """The public functions."""

    def text(self) -> str:
        """The entry as lines."""
        head = f"{self.path}  # {self.summary}" if self.summary else self.path
        return "\n".join([head, *([render(self.functions, INDENT)] if self.functions else [])])


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: characters / 4, rounded up.

    Code in English runs at 3 to 4.5 characters per token with today's tokenizers. The budget needs a
    figure that is cheap, the same everywhere and independent of the model, not an exact one.
    """
    return -(-len(text) // CHARS_PER_TOKEN)


def index(files: Files) -> tuple[Procedure, ...]:
    """The index of K_p, by path."""
    return tuple(Procedure(path, *_entry(text)) for path, text in procedures(files).items())


@lru_cache(maxsize=1024)
def _entry(text: str) -> tuple[str, tuple[Signature, ...]]:
    """Summary and public functions of a procedure's text."""
    try:
        module = outline(text, "the procedure")
    except ParseError as error:
        return f"does not parse (line {error.line}: {error.reason})", ()
    functions = tuple(
        found for found in of_outline(module) if found.kind == "function" and not found.name.startswith("_")
    )
    return _summary(module, functions), functions


def _summary(module: Outline, functions: tuple[Signature, ...]) -> str:
    """The first line of the docstring, else the first comment, else a function's docstring."""
    head = module.units[0].parts[0].node if module.units else None
    if (
        isinstance(head, ast.Expr)
        and isinstance(head.value, ast.Constant)
        and isinstance(head.value.value, str)
    ):
        return first_line(head.value.value)
    comments = (line.strip() for line in module.source.splitlines())
    comment = next((line for line in comments if line.startswith("#") and line.strip("#! ")), "")
    return first_line(comment.strip("#! ")) or next((f.note for f in functions if f.note), "")


def level0(files: Files, budget_tokens: int = 6000, usefulness: Mapping[str, float] | None = None) -> Level0:
    """Signatures and index within a budget.

    Past the budget, procedures are given by name only, those with the least ``usefulness`` first (by
    path, e.g. the episode of the last use; 0 when absent); then classes of K_o, the longest first; then
    names only, as many as fit. The text says what was done.
    """
    try:
        objects: Sequence[Signature] | str = structure(files.get(OBJECTS, ""))
    except ParseError as error:
        objects = f"# does not parse (line {error.line}: {error.reason})"
    known = index(files)
    if not objects and not known:
        return Level0("", 0)
    worth = usefulness or {}
    paths = sorted((entry.path for entry in known), key=lambda path: (worth.get(path, 0.0), path))
    classes = [] if isinstance(objects, str) else _by_length(objects)
    doomed = [*paths, *classes]

    def page(count: int) -> str:
        return _page(objects, known, frozenset(doomed[:count]))

    count = _fewest(page, 0, len(paths), budget_tokens)
    if estimate_tokens(page(count)) > budget_tokens:
        count = _fewest(page, count, len(doomed), budget_tokens)
    text = page(count)
    if estimate_tokens(text) > budget_tokens:
        text = _names_only(objects, known, budget_tokens)
    return Level0(text, estimate_tokens(text), tuple(doomed[:count]))


def _by_length(objects: Sequence[Signature]) -> list[str]:
    """The names of the classes that get shorter when given by name only, the longest first."""
    lengths = {found.name: len(render([found])) for found in objects if found.kind == "class"}
    return sorted(lengths, key=lambda name: (-lengths[name], name))


def _fewest(page: Callable[[int], str], least: int, most: int, budget: int) -> int:
    """How many entries must be given by name only; ``most`` if even that is not enough.

    The first entry may be shorter than the note that names it; from then on the page only shrinks.
    """

    def fits(count: int) -> bool:
        return estimate_tokens(page(count)) <= budget

    if fits(least):
        return least
    return min(most, bisect_left(range(most + 1), True, lo=least + 1, key=fits)) if least < most else most


def _page(objects: Sequence[Signature] | str, known: Sequence[Procedure], short: frozenset[str]) -> str:
    return "\n".join([*_objects_lines(objects, short), *_procedure_lines(known, short)])


def _objects_lines(objects: Sequence[Signature] | str, short: frozenset[str]) -> list[str]:
    if isinstance(objects, str):
        return [OBJECTS_TITLE, objects]
    if not objects:
        return []
    names = [found.name for found in objects if found.kind == "class" and found.name in short]
    full = [found for found in objects if found.kind != "class" or found.name not in short]
    lines = [OBJECTS_TITLE, *([render(full)] if full else [])]
    if names:
        lines.append(f"# Classes by name only, for want of room (inspect to read): {', '.join(names)}")
    return lines


def _procedure_lines(known: Sequence[Procedure], short: frozenset[str]) -> list[str]:
    if not known:
        return []
    names = [entry.path for entry in known if entry.path in short]
    lines = [PROCEDURES_TITLE, *(entry.text() for entry in known if entry.path not in short)]
    if names:
        lines.append(f"# Procedures by name only, for want of room (inspect to read): {', '.join(names)}")
    return lines


def _names_only(objects: Sequence[Signature] | str, known: Sequence[Procedure], budget: int) -> str:
    """As many names as fit, and how many do not."""
    names = [] if isinstance(objects, str) else [found.name for found in objects]
    names = list(dict.fromkeys([*names, *(entry.path for entry in known)]))
    head = "## Knowledge by name only, for want of room (inspect to read)"
    room = budget * CHARS_PER_TOKEN - len(head) - len("\n… and 1000000 more")
    shown: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        shown.append(name)
    rest = len(names) - len(shown)
    return "\n".join([head, ", ".join(shown), *([f"… and {rest} more"] if rest else [])])
