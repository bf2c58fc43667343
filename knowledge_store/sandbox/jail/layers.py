"""The layers in the order in which they can be put in force, each checked by its effect.

Two moments: :func:`enter` for the zygote, once (namespaces, empty root, no privileges); and
:class:`Confinement` for each holder and child (Landlock, limits, seccomp). What fails is recorded with
its reason, never passed over.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from typing import Any

from . import kernel, landlock, namespaces, seccomp

MEBIBYTE = 1 << 20
FORKING_SECONDS = 60
"""Processor time that a holder may need beyond its code's, to fork hundreds of children."""
SLACK_PROCESSES = 4
"""The zygote's two processes, the holder and one more."""


class Record:
    """What was tried, in order: name and reason (empty when in force)."""

    def __init__(self, disabled: list[str]) -> None:
        self.reasons: dict[str, str] = {}
        self._disabled = disabled

    def wanted(self, name: str) -> bool:
        """False, and recorded as missing, when the policy switches the layer off."""
        if name in self._disabled:
            self.reasons[name] = "switched off by the policy"
        return name not in self._disabled

    def attempt(self, name: str, *steps: Callable[[], object]) -> None:
        """Run the steps of a layer and record whether they all worked."""
        if not self.wanted(name):
            return
        try:
            for step in steps:
                step()
        except kernel.Missing as missing:
            self.reasons[name] = str(missing)
        except OSError as error:
            self.reasons[name] = error.strerror or type(error).__name__
        else:
            self.reasons.setdefault(name, "")

    def active(self, name: str) -> bool:
        return self.reasons.get(name) == ""


def enter(record: Record) -> None:
    """Confine the zygote. Returns in the process that is to serve; its outer half waits and exits."""
    if record.wanted("unprivileged"):
        record.attempt("unprivileged", namespaces.drop_root)
    record.attempt("namespaces", namespaces.separate)
    if record.active("namespaces"):
        _continue_inside()
        record.attempt("namespaces", namespaces.check_separate)
        record.attempt("empty_root", namespaces.empty_root, namespaces.check_empty_root)
    elif record.wanted("empty_root"):
        record.reasons["empty_root"] = "needs the namespaces"
    record.attempt("unprivileged", namespaces.drop_capabilities)
    record.attempt("no_new_privs", _no_new_privs)
    record.attempt("not_dumpable", _not_dumpable)


def _continue_inside() -> None:
    """Fork into the new PID namespace: the outer process only waits, and dies with the inner one."""
    inner = os.fork()
    if inner:
        os.closerange(0, 3)
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _no_new_privs() -> None:
    kernel.numbers()
    kernel.require(kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1), "prctl(PR_SET_NO_NEW_PRIVS)")


def _not_dumpable() -> None:
    kernel.numbers()
    kernel.require(kernel.prctl(kernel.PR_SET_DUMPABLE, 0), "prctl(PR_SET_DUMPABLE)")


class Confinement:
    """The layers of the processes that execute untrusted code; built once, applied after each fork.

    ``report`` is the descriptor of the report channel. After :meth:`probe`, ``can_clone`` says whether
    a holder may fork its own children: only where a limit on processes counts this sandbox alone, since
    else a fork bomb in K_o could not be bounded without starving the user's other processes.
    """

    def __init__(self, settings: dict[str, Any], report: int, own_memory: int) -> None:
        self.can_clone = False
        self._own_memory = own_memory
        self._settings = settings
        self._cpu = int(settings["cpu_seconds"]) + 1  # the timer in the process itself comes first
        self._report = report
        self._active: set[str] = set()

    def probe(self, record: Record) -> None:
        """Find out, in throw-away children, which layers this kernel really puts in force."""
        record.attempt("landlock", lambda: _trial(_try_landlock))
        record.attempt("rlimits", lambda: _trial(self._try_limits))
        record.attempt("seccomp", lambda: _trial(self._try_seccomp))
        self._active = {name for name in record.reasons if record.active(name)}
        if "seccomp" in self._active:
            self.can_clone = {"rlimits", "namespaces"} <= self._active and _counted_alone()

    def enter_holder(self, may_clone: bool) -> None:
        """Confine the process that is about to execute K_o. Raises ``Missing`` if a layer fails now."""
        if "namespaces" not in self._active:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if "landlock" in self._active:
            landlock.restrict()
        if "rlimits" in self._active:
            self._limit(may_clone)
        if "seccomp" in self._active:
            seccomp.install(seccomp.program(self._report, may_clone))

    def enter_child(self) -> None:
        """Confine a clone of the holder further: it executes one procedure and needs nothing else."""
        if "namespaces" not in self._active:  # else all end with the first process of the namespace
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if "rlimits" in self._active:
            resource.setrlimit(resource.RLIMIT_CPU, (self._cpu, self._cpu))
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

    def _limit(self, may_clone: bool) -> None:
        memory = self._own_memory + int(self._settings["memory_mb"]) * MEBIBYTE
        processes = int(self._settings["concurrency"]) + SLACK_PROCESSES
        limits = {
            resource.RLIMIT_CPU: self._cpu + FORKING_SECONDS * may_clone,
            resource.RLIMIT_AS: memory,
            resource.RLIMIT_STACK: 8 * MEBIBYTE,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: self._report + 1,
            resource.RLIMIT_MEMLOCK: 0,
            resource.RLIMIT_NPROC: processes if may_clone else 0,
        }
        for limit, value in limits.items():
            resource.setrlimit(limit, (value, value))

    def _try_limits(self) -> None:
        self._limit(may_clone=False)
        try:
            bytes(int(self._settings["memory_mb"]) * MEBIBYTE * 2)
        except MemoryError:
            return
        raise kernel.Missing("RLIMIT_AS has no effect")

    def _try_seccomp(self) -> None:
        seccomp.install(seccomp.program(self._report, may_clone=True))
        for call in (os.pipe, os.fork, lambda: os.open("/", os.O_RDONLY)):
            try:
                call()
            except PermissionError:
                continue
            raise kernel.Missing("the filter let a forbidden call through")


def _try_landlock() -> None:
    landlock.restrict()
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except PermissionError:
        return
    raise kernel.Missing("the ruleset let a directory be opened")


def _counted_alone() -> bool:
    """Whether RLIMIT_NPROC counts this sandbox's processes only, and stops a fork."""
    return _can_fork(SLACK_PROCESSES + 4) and not _can_fork(1)


def _can_fork(limit: int) -> bool:
    def attempt() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    try:
        _trial(attempt)
    except kernel.Missing:
        return False
    return True


def _trial(step: Callable[[], object]) -> None:
    """Run a step in a child of its own; its failure comes back as ``Missing`` with the reason."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        _run_trial(step, send)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        reason = pipe.read(500).decode(errors="replace")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise kernel.Missing(reason or f"the trial ended with status {code}")


def _run_trial(step: Callable[[], object], send: int) -> None:
    code, reason = 1, ""
    try:
        step()
        code = 0
    except (kernel.Missing, OSError, ValueError) as error:
        reason = str(error)
        os.write(send, reason.encode())
    finally:  # a trial must never return into the zygote
        os._exit(code)


def address_space() -> int:
    """Bytes of address space that the interpreter itself uses; to be asked before /proc is gone."""
    try:
        statm = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 64 * MEBIBYTE
    pages = os.read(statm, 100).split()[0]
    os.close(statm)
    return int(pages) * resource.getpagesize()
