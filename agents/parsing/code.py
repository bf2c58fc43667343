"""Code in a reply: fenced blocks, each under the path that it belongs to, and ``DELETE`` lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.parsing.text import CUT_OFF, FENCE, MARKUP, UnreadableReply, lines_of, strip_thinking

OBJECTS = "objects.py"

_PATH = re.compile(r"(?<![\w./-])[\w./-]*\.py(?!\w)")
_ONLY_PATH = re.compile(
    r"[\s>*#`\"'-]*+(?:\d++[.)]\s*+)?+(?:(?:file(?:name)?|path)(?:\s*+\d++)?+[\s*]*+:)?+[\s*`\"']*+"
    r"(?P<path>[\w./-]*\.py)[\s*`\"':.]*+(?:\([^()]*+\))?+[\s*:.]*+$",
    re.IGNORECASE,
)
_DELETE = re.compile(rf"{MARKUP}(?P<word>delete)[\s*_`:]++(?P<rest>.*)", re.IGNORECASE)
_DELETED = re.compile(r"[\s`*,]*+(?:and\b[\s`*]*+)?+(?P<path>[\w./-]*\.py)(?!\w)[`*]*+", re.IGNORECASE)
_NAME = re.compile(r"[\s`*]*+([A-Za-z_]\w*+)[`*.\s]*+(?:\([^()]*+\))?+\s*+$")
_REMARK = re.compile(r"[\s.]*+(?:[(#–—-].*)?$")
_NO_CHANGES = re.compile(rf"{MARKUP}no changes?\b", re.IGNORECASE)
_WRAPPER = ("markdown", "md")
"""Fence languages of a fence around the whole answer."""
_NOT_CODE = ("bash", "console", "json", "output", "plaintext", "sh", "shell", "text", "txt")
"""Fence languages of blocks that explain, and need no path."""
_DELETES_NOTHING = "`DELETE objects.py` names nothing; write `DELETE objects.py: Name, OtherName`"


@dataclass(frozen=True, slots=True)
class CodeReply:
    """Code that a model wrote: a delta in its own words, not yet merged or checked."""

    objects: str
    """Top-level definitions for ``objects.py``."""
    procedures: dict[str, str]
    """Whole files by path, as the model named them: not yet checked to lie in ``procedures/``."""
    deleted_names: tuple[str, ...]
    deleted_files: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not (self.objects.strip() or self.procedures or self.deleted_names or self.deleted_files)


@dataclass(frozen=True, slots=True)
class _Block:
    above: tuple[str, ...]
    """The lines since the block before."""
    info: str
    """What stands behind the opening fence."""
    code: tuple[str, ...]


def parse_code(reply: str, finish_reason: str = "stop") -> CodeReply:
    """The fenced blocks of a reply, each with its path, and its ``DELETE`` lines.

    A block's path stands on the fence, on a line of its own above, in a comment on its first line, or
    as the only path of the line directly above. A bare file name lies in ``procedures/``. A reply with
    neither blocks nor deletions must say ``NO CHANGES``.

    Raises:
        UnreadableReply: it was cut off, a block has no path or no end, or there is nothing to read.
    """
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; write less, or in fewer files")
    blocks, outside = _blocks(lines_of(strip_thinking(reply)))
    outside += [line for block in blocks if _is_command(block) for line in block.code]
    files = _files([block for block in blocks if not _is_command(block)])
    names, paths = _deletions(outside)
    objects = "\n\n".join(text.strip("\n") for path, text in files if path == OBJECTS)
    procedures = {path: text for path, text in files if path != OBJECTS}
    code = CodeReply(objects, procedures, names, tuple(path for path in paths if path not in procedures))
    if code.empty and not any(map(_NO_CHANGES.match, outside)):
        raise UnreadableReply(
            "the reply holds no code block and no DELETE line; if nothing is to change, write NO CHANGES"
        )
    return code


def fenced_blocks(reply: str, finish_reason: str = "stop") -> tuple[str, ...]:
    """The text of every fenced block that is not blank, for replies whose blocks need no path.

    Raises:
        UnreadableReply: it was cut off, the last block has no end, or there is none.
    """
    if finish_reason == CUT_OFF:
        raise UnreadableReply("the reply was cut off by the token limit; write less")
    blocks, _ = _blocks(lines_of(strip_thinking(reply)))
    if not blocks:
        raise UnreadableReply("the reply holds no code block")
    return tuple("\n".join(block.code) + "\n" for block in blocks)


# --- blocks ------------------------------------------------------------------------------------


def _blocks(lines: Sequence[str]) -> tuple[list[_Block], list[str]]:
    """The blocks that are not blank, and all lines outside of blocks."""
    blocks: list[_Block] = []
    outside: list[str] = []
    since = number = 0
    last = max((place for place, line in enumerate(lines) if line.strip()), default=0)
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if not fence or _is_wrapper(fence, is_last=number == last):
            outside.append("" if fence else lines[number])
            number += 1
            continue
        end = _closing(lines, number, fence["ticks"])
        code = [line.removeprefix(fence["indent"]) for line in lines[number + 1 : end]]
        if any(line.strip() for line in code):
            blocks.append(_Block(tuple(outside[since:]), fence["info"], tuple(code)))
        since = len(outside)
        number = end + 1
    return blocks, outside


def _is_wrapper(fence: re.Match[str], *, is_last: bool) -> bool:
    """Whether a fence stands around the whole answer, or is what such a one leaves at the end."""
    info = fence["info"].strip().lower()
    return info in _WRAPPER or (not info and is_last)


def _closing(lines: Sequence[str], opening: int, ticks: str) -> int:
    """Index of the line that closes a fence: at least as many ticks, and nothing else."""
    for number in range(opening + 1, len(lines)):
        line = lines[number].strip()
        if len(line) >= len(ticks) and line == ticks[0] * len(line):
            return number
    raise UnreadableReply("the last code block has no closing fence; close each block with a line of ```")


# --- paths -------------------------------------------------------------------------------------


def _files(blocks: Sequence[_Block]) -> list[tuple[str, str]]:
    """Path and text of every block."""
    placed = [(_path(block), block) for block in blocks]
    unplaced = [block for path, block in placed if path is None and not _is_explanation(block)]
    if unplaced:
        raise UnreadableReply(
            f"{len(unplaced)} code block(s) have no path; write `### objects.py` or "
            "`### procedures/NAME.py` on the line above each"
        )
    return [(path, "\n".join(block.code) + "\n") for path, block in placed if path]


def _path(block: _Block) -> str | None:
    """Where a block belongs: a line that holds nothing but the path counts more than a mention."""
    above = [line for line in block.above if line.strip()]
    first = next(line for line in block.code if line.strip())
    comment = [first] if first.lstrip().startswith("#") else []
    named = _PATH.findall(block.info)[:1]
    named += [match["path"] for line in (*above[::-1], *comment) if (match := _ONLY_PATH.match(line))]
    if named:
        return _placed(named[0])
    mentioned = [set(_PATH.findall(line)) for line in (*above[-1:], *comment)]
    single = next((paths for paths in mentioned if len(paths) == 1), None)
    return _placed(single.pop()) if single else None


def _is_explanation(block: _Block) -> bool:
    return block.info.strip().lower() in _NOT_CODE


def _placed(path: str) -> str:
    """A path as the memory has it: a bare file name lies in ``procedures/``."""
    path = path.removeprefix("./")
    return path if path == OBJECTS or "/" in path else f"procedures/{path}"


# --- deletions ---------------------------------------------------------------------------------


def _is_command(block: _Block) -> bool:
    """Whether a block holds no code but what may also stand outside of blocks."""
    return all(_DELETE.match(line) or _NO_CHANGES.match(line) for line in block.code if line.strip())


def _deletions(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Deleted names of ``objects.py`` and deleted files."""
    names: list[str] = []
    files: list[str] = []
    for line in lines:
        if match := _DELETE.match(line):
            own, paths = _targets(match["rest"], is_command=match["word"].isupper())
            names += own
            files += paths
    return tuple(dict.fromkeys(names)), tuple(dict.fromkeys(files))


def _targets(rest: str, is_command: bool) -> tuple[list[str], list[str]]:
    """Names of ``objects.py`` and paths behind ``DELETE``; none where the line turns out to be prose."""
    paths: list[str] = []
    position = 0
    while match := _DELETED.match(rest, position):
        paths.append(_placed(match["path"]))
        position = match.end()
    tail = rest[position:].strip()
    names: list[str] = []
    if paths[-1:] == [OBJECTS] and tail.startswith(":"):
        names = _names(tail[1:])
        paths.pop()
    elif not (is_command or _REMARK.match(tail)):
        return [], []
    if OBJECTS in paths:
        raise UnreadableReply(_DELETES_NOTHING)
    return names, paths


def _names(listed: str) -> list[str]:
    matches = [_NAME.match(part) for part in listed.split(",")]
    if not all(matches):
        raise UnreadableReply(_DELETES_NOTHING)
    return [match[1] for match in matches if match]
