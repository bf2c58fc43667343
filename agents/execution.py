"""Model-written code put to use: executed in the sandbox, and asked there by a harness of ours.

A harness is a module with a function ``main(program, data)``: ``program`` is the namespace of the executed
code and ``data`` is JSON; what it returns is handed out as one line of JSON. It is plain Python without
imports from the project, and travels as text.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from agents.protocol import Bench

MARK = "@result "
_CALL = """

def _ask_harness(say=__builtins__["print"]):
    import json

    harness = {{"__builtins__": __builtins__, "__name__": "harness"}}
    exec(compile({harness!r}, "harness.py", "exec"), harness)
    data = json.loads({data!r})
    answer = harness["main"](globals(), data)
    say("\\n{mark}" + json.dumps(answer))


def print(*values, **options):
    pass


_ask_harness()
"""
_CALLING = re.compile(r"^.*, in <module>\n.*\n.*, in _ask_harness\n.*\n", re.MULTILINE)
"""The frames of the call itself, in a report on the code."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of it. The code may have forged ``value``: it is data, to be checked like a reply."""

    value: Any
    """What the harness returned; None where the code could not be executed to the end."""
    problem: str = ""
    """Why it could not, as a report for repair; empty when it could."""


async def run(bench: Bench, path: str, code: str, harness: ModuleType, data: Any) -> Ran:
    """Execute ``code`` and let the harness ask it.

    Args:
        bench: whose sandbox executes it.
        path: what reports call the code.
        code: model-written.
        harness: the module whose ``main`` is called.
        data: JSON values for it.
    """
    call = _CALL.format(harness=_text(harness), data=json.dumps(data, ensure_ascii=False), mark=MARK)
    verdict = await bench.execute(path, f"{code}\n{call}")
    if not verdict.ok:
        return Ran(None, _CALLING.sub("", verdict.report) or verdict.kind)
    line = next((line for line in reversed(verdict.output.splitlines()) if line.startswith(MARK)), None)
    if line is None:
        return Ran(None, f"{path}: it ended the process before it could be used")
    try:
        return Ran(json.loads(line.removeprefix(MARK)))
    except (ValueError, RecursionError) as error:
        return Ran(None, f"{path}: unreadable result: {error}")


@cache
def _text(harness: ModuleType) -> str:
    return inspect.getsource(harness)
