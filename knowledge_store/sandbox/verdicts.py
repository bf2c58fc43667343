"""From what the kernel and the child say to a :class:`~ocm.types.Verdict`.

The child's report is hostile data: bytes of limited length, parsed as JSON, of which two short texts
and one word are taken. A pass needs both the child's word and exit status 0 from the kernel.
"""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

from knowledge_store.sandbox.policy import Policy
from ocm.types import Verdict
from ocm.visible import visible

CHILD_KINDS = frozenset({"ok", "syntax", "exception", "timeout", "memory", "output", "unused_objects"})
OUT_OF_MEMORY = 97
LOST = 98
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGSYS)


def judge(path: str, outcome: dict[str, Any], policy: Policy) -> Verdict:
    """The verdict on one process. ``outcome`` is what the zygote says (``jail/batch.py``)."""
    kind, report, output = _decide(outcome, policy)
    return Verdict(
        path=path,
        ok=kind == "ok",
        kind=kind,
        report=clean(report, policy.report_chars) or ("" if kind == "ok" else f"{clean(path, 200)}: {kind}"),
        output=clean(output, policy.output_bytes),
        seconds=round(float(outcome["cpu"]), 4),
    )


def clean(text: str, limit: int) -> str:
    """At most ``limit`` characters, none of which steers a terminal or hides; no addresses."""
    return ADDRESS.sub("0x...", visible(text))[:limit]


def _decide(outcome: dict[str, Any], policy: Policy) -> tuple[str, str, str]:
    status = outcome["status"]
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    if outcome["cause"] == "broken":
        return "protocol", "the process sent more than its one report", ""
    if outcome["cause"] == "wall" and (code < 0 or not outcome["report"]):
        return "timeout", f"stopped after {policy.wall_seconds:g} s: the limit on elapsed time", ""
    if outcome["cause"] == "holder":
        return "killed", "the process that holds objects.py ended before this procedure could run", ""
    if code < 0:
        return _signalled(-code, float(outcome["cpu"]), policy)
    if code == OUT_OF_MEMORY:
        return "memory", f"used more than {policy.memory_mb} MiB of memory", ""
    if code == LOST:
        return "protocol", "the process broke off without a report", ""
    return _reported(outcome["report"], code)


def _signalled(number: int, cpu: float, policy: Policy) -> tuple[str, str, str]:
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= policy.cpu_seconds):
        limit = f"stopped after {policy.cpu_seconds} s of processor time, in a single long operation"
        return "timeout", limit, ""
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    if number in CRASHES:
        return "killed", f"the interpreter crashed ({name}): usually a recursion that is far too deep", ""
    return "killed", f"the process was ended by {name}", ""


def _reported(report: str, code: int) -> tuple[str, str, str]:
    if not report:
        return "protocol", f"the process ended with status {code} before the end of the file", ""
    try:
        body = json.loads(report.encode("latin-1"))
        kind, text, output = body["kind"], body["report"], body["output"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return "protocol", "the process sent a report that cannot be read", ""
    if type(kind) is not str or kind not in CHILD_KINDS or type(text) is not str or type(output) is not str:
        return "protocol", "the process sent a report that makes no sense", ""
    if kind == "ok" and code != 0:
        return "protocol", f"the process reported a pass but ended with status {code}", ""
    return kind, text, output
