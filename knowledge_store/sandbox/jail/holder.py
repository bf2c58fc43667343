"""The process that executes K_o once, and its clones that execute one procedure each.

All of this process is under K_o's control once K_o has run: it can spoil the verdicts of its own
candidate and of no other (see docs/sandbox.md, "What cannot be closed").
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from . import execute, kernel
from .layers import Confinement

Procedure = tuple[str, str]
"""Path and source."""


def run(
    settings: dict[str, Any],
    confinement: Confinement,
    report: int,
    control: int,
    objects: str,
    procedures: list[Procedure],
) -> NoReturn:
    """Execute K_o, then a procedure for every byte that comes on ``control``, in a clone each."""

    def send(message: bytes) -> int:
        return os.write(report, message)

    executor = execute.Executor(settings, objects, send)
    hide_clock()
    confinement.enter_holder(may_clone=True)
    if executor.run_objects():
        index = 0
        while os.read(control, 1):
            child = kernel.clone_sibling()
            if child == 0:
                os.close(control)
                executor.run_procedure(*procedures[index], confinement.enter_child)
            if child < 0:  # K_o uses up the processes that this candidate may have
                break
            send(b"P%d %d" % (index, child))
            index += 1
    os._exit(0)


def run_alone(
    settings: dict[str, Any], confinement: Confinement, report: int, objects: str, procedure: Procedure | None
) -> NoReturn:
    """Where a holder may not clone: execute K_o and one procedure (or none) in this process."""
    executor = execute.Executor(settings, objects, lambda message: os.write(report, message))
    hide_clock()
    confinement.enter_holder(may_clone=False)
    if executor.run_objects() and procedure:
        executor.run_procedure(*procedure, confinement.enter_child)
    os._exit(0)


def hide_clock() -> None:
    """No clock: equal code must give equal verdicts."""
    if "time" in sys.modules:
        sys.modules["time"].__dict__.clear()
