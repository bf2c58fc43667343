"""Turn a failure of model-written code into a short report that a model can repair from.

Runs inside the process that executed the code. The report names file, line, exception and message,
and shows the model's own frames only; it holds no address, no time and no path of the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import FrameType, TracebackType

FRAMES = 8
LINE_CHARS = 200
MESSAGE_CHARS = 600
LIBRARY = os.__file__.rpartition(os.sep)[0]
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
LIBRARY_FILE = re.compile(r" \((?:/|[A-Z]:)[^()]*\)")


def clean(text: str) -> str:
    """Without addresses and without paths of the standard library."""
    return ADDRESS.sub("0x...", LIBRARY_FILE.sub("", text).replace(LIBRARY, "<library>"))


def describe(error: BaseException, sources: Mapping[str, str], limit: int) -> str:
    """The report for an exception, at most ``limit`` characters; frames outside ``sources`` are left out."""
    frames = list(_frames(error.__traceback__, sources))
    if len(frames) > FRAMES:
        left_out = f"  ... {len(frames) - FRAMES} more frames ..."
        frames = [*frames[:2], left_out, *frames[2 - FRAMES :]]
    last = f"{type(error).__name__}: {_message(error)}".rstrip(": ")
    room = max(0, limit - len(last) - 1)
    shown = "\n".join(frames)
    if len(shown) > room:
        shown = "..." + shown[len(shown) - max(0, room - 3) :]
    return clean(f"{shown}\n{last}" if shown else last)[:limit]


def describe_syntax(error: SyntaxError, path: str, limit: int) -> str:
    """The report for source that does not compile."""
    line = (error.text or "").rstrip("\n")[:LINE_CHARS]
    where = f"{path}, line {error.lineno or 1}"
    shown = [where, f"    {line.strip()}"] if line.strip() else [where]
    return clean("\n".join([*shown, f"{type(error).__name__}: {str(error.msg)[:MESSAGE_CHARS]}"]))[:limit]


def outermost(frame: FrameType | None, path: str, source: str) -> str:
    """Where a file's top level stands now: the same wherever in that statement time ran out."""
    line = 0
    while frame is not None:
        if frame.f_code.co_filename == path and frame.f_code.co_name == "<module>":
            line = frame.f_lineno
        frame = frame.f_back
    return _where(path, _statement_start(source, line), "<module>", source) if line else path


def _statement_start(source: str, line: int) -> int:
    """First line of the top-level statement around ``line``: the last line at or above it that is not
    indented, blank, a comment or the end of a bracket."""
    lines = source.split("\n")
    for number in range(min(line, len(lines)), 0, -1):
        if lines[number - 1][:1] not in ("", " ", "\t", "#", ")", "]", "}"):
            return number
    return line


def _frames(trace: TracebackType | None, sources: Mapping[str, str]) -> Iterator[str]:
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in sources:
            yield _where(code.co_filename, trace.tb_lineno, code.co_name, sources[code.co_filename])
        trace = trace.tb_next


def _where(path: str, line: int, name: str, source: str) -> str:
    lines = source.split("\n")
    text = lines[line - 1].strip()[:LINE_CHARS] if 0 < line <= len(lines) else ""
    return f"{path}, line {line}, in {name}\n    {text}"


def _message(error: BaseException) -> str:
    """``str(error)``, which may be the code's own and may fail."""
    try:
        return str(error)[:MESSAGE_CHARS]
    except Exception as failure:  # noqa: BLE001 -- the code's own __str__ may raise anything
        return f"<its __str__ raised {type(failure).__name__}>"
