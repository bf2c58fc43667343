"""Execute one file of model-written code in *this* process and say how it went.

Everything here shares its process with the code it runs, so the code may lie about itself. What it may
not do (touch another verdict, the harness, the store) is kept from it by :mod:`.layers`, not by this.
"""

from __future__ import annotations

import builtins
import io
import json
import mmap
import os
import random
import signal
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from . import poison, report

SEED = 20260702
"""Every procedure sees the same random numbers."""
OUT_OF_MEMORY = 97
"""Exit status of a process that had no memory left to report in."""
BALLAST = 4 << 20
LATE = signal.SIGALRM
"""What the zygote sends to a process that is over the limit on elapsed time, before it kills it."""
PASS = b'{"kind": "ok", "report": "", "output": ""}'
"""The commonest report, ready made."""


class Stop(BaseException):
    """Ends the code with a verdict of its own; not an ``Exception``, so that few handlers catch it."""

    def __init__(self, kind: str, report: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.report = report


class Printed(io.StringIO):
    """Standard output of the code: kept up to a limit, and the end of the code beyond it."""

    def __init__(self, limit: int, overflow: Callable[[], object]) -> None:
        super().__init__()
        self._room = limit
        self._overflow = overflow

    def write(self, text: str) -> int:
        super().write(text[: self._room])
        self._room -= len(text)
        if self._room < 0:
            self._room = 0
            self._overflow()
        return len(text)


class Executor:
    """Runs K_o and then a procedure; ``send`` hands the process's report out."""

    def __init__(self, settings: dict[str, Any], objects: str, send: Callable[[bytes], object]) -> None:
        self._settings = settings
        self._limit = int(settings["report_chars"])
        self._send = send
        self._objects = objects
        self._sources: dict[str, str] = {}
        self._path = ""
        self._probing = False
        self._tag = b""
        self._builtins = {**vars(builtins), "__import__": self._importer(builtins.__import__)}
        self._printed = self._new_output()
        random.seed(SEED)  # a fork of Python's seeds it anew
        self._ballast = mmap.mmap(-1, BALLAST, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for number in (signal.SIGPROF, LATE):
            signal.signal(number, self._out_of_time)

    def run_objects(self) -> bool:
        """Execute K_o and report with tag ``K``. False when it failed: the process is then to exit."""
        module = ModuleType("objects")
        sys.modules["objects"] = module
        self._begin(b"K", "objects.py", self._objects)
        kind = self._attempt(module)
        signal.setitimer(signal.ITIMER_PROF, 0)
        random.seed(SEED)
        return kind == "ok"

    def run_procedure(self, path: str, source: str, confine: Callable[[], object]) -> NoReturn:
        """Execute a procedure, report with tag ``R`` and end the process. 0 is the status of a pass.

        ``confine`` is called when the timer is set, before the code runs.
        """
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        self._begin(b"R", path, source)
        confine()
        self._end(self._attempt(module))

    def _begin(self, tag: bytes, path: str, source: str) -> None:
        self._tag, self._path = tag, path
        self._sources = {"objects.py": self._objects, path: source}
        self._printed = self._new_output()
        sys.stdout = sys.stderr = self._printed
        signal.setitimer(signal.ITIMER_PROF, float(self._settings["cpu_seconds"]))

    def _new_output(self) -> Printed:
        return Printed(int(self._settings["output_bytes"]), self._too_much_output)

    def _attempt(self, module: ModuleType) -> str:
        """Compile and run the current file, report, and return the kind of its verdict."""
        try:
            kind, text = self._judge(module)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        self._tell(kind, text)
        return kind

    def _judge(self, module: ModuleType) -> tuple[str, str]:
        try:
            code = self._compile()
            self._exec(code, module)
        except Stop as stop:
            return stop.kind, stop.report
        except MemoryError as error:
            self._ballast.close()
            return "memory", self._describe(error) + self._memory_note()
        except SystemExit as error:
            return "exception", self._describe(error) + "\nThe file must run to its end, without an exit."
        except BaseException as error:  # noqa: BLE001 -- the code may raise anything
            return "exception", self._describe(error)
        if self._tag == b"R" and self._unused(code):
            return "unused_objects", UNUSED.format(path=self._path)
        return "ok", ""

    def _compile(self) -> CodeType:
        source = self._sources[self._path]
        try:
            return compile(source, self._path, "exec", dont_inherit=True, optimize=0)
        except SyntaxError as error:
            raise Stop("syntax", report.describe_syntax(error, self._path, self._limit)) from None
        except (ValueError, RecursionError) as error:
            text = f"{self._path}, line 1\n{type(error).__name__}: {error}"
            raise Stop("syntax", report.clean(text)[: self._limit]) from None

    def _exec(self, code: CodeType, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._builtins
        module.__dict__["__file__"] = self._path
        exec(code, module.__dict__)  # noqa: S102 -- the purpose of this process

    def _unused(self, code: CodeType) -> bool:
        """Whether the procedure also runs to its end, touching nothing, when K_o is all poison."""
        if not self._settings["require_objects"] or not self._objects.strip():
            return False
        self._probing = True
        sys.stdout = sys.stderr = Printed(0, lambda: None)
        sys.modules["objects"] = poison.module(sys.modules["objects"])
        module = sys.modules["__main__"] = ModuleType("__main__")
        try:
            self._exec(code, module)
        except BaseException:  # noqa: BLE001 -- any way out but the end means that K_o was needed
            return False
        return not poison.touched

    def _describe(self, error: BaseException) -> str:
        try:
            return report.describe(error, self._sources, self._limit)
        except Exception:  # noqa: BLE001 -- the code's own exception class may break the description
            return f"{self._path}: an exception that cannot be described"

    def _memory_note(self) -> str:
        return f"\nThe limit is {self._settings['memory_mb']} MiB of memory."

    def _too_much_output(self) -> NoReturn:
        limit = self._settings["output_bytes"]
        self._stop("output", f"{self._path}: printed more than {limit} characters; print less")

    def _out_of_time(self, signum: int, frame: FrameType | None) -> NoReturn:
        where = report.outermost(frame, self._path, self._sources[self._path])
        limit = "{wall_seconds:g} s" if signum == LATE else "{cpu_seconds} s of processor time"
        text = f"{where}\nstopped after {limit.format_map(self._settings)}; an endless loop?"
        self._stop("timeout", text)

    def _stop(self, kind: str, text: str) -> NoReturn:
        """End here and now, so that no handler of the code can hold the verdict up."""
        if self._probing:  # it had run to its end already
            kind, text = "ok", ""
        self._tell(kind, report.clean(text)[: self._limit])
        self._end(kind)

    def _tell(self, kind: str, text: str) -> None:
        output = self._printed.getvalue()
        if kind == "ok" and not output:
            self._send(self._tag + PASS)
            return
        body = {"kind": kind, "report": text, "output": output}
        self._send(self._tag + json.dumps(body).encode())

    def _end(self, kind: str) -> NoReturn:
        os._exit(0 if kind == "ok" else 1)

    def _importer(self, real: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        """``__import__`` for the code: what may be imported, and messages that say so."""
        allowed = frozenset(self._settings["allowed"])

        def guarded(
            name: str,
            globals: Mapping[str, object] | None = None,
            locals: Mapping[str, object] | None = None,
            fromlist: tuple[str, ...] | None = (),
            level: int = 0,
        ) -> ModuleType:
            if name == "objects" and level == 0:
                return _objects_module(fromlist or ())
            if level or name not in allowed:
                raise ImportError(_refusal(name, level, allowed))
            return real(name, globals, locals, fromlist, 0)

        return guarded


UNUSED = (
    "{path}: ran to its end without using anything of objects.py. "
    "A procedure must build or call what it imports from objects, also when it is executed as a file."
)


def _objects_module(names: tuple[str, ...]) -> ModuleType:
    module = sys.modules["objects"]
    for name in names:
        if name != "*" and name not in module.__dict__:
            defined = ", ".join(sorted(key for key in module.__dict__ if not key.startswith("_")))
            raise ImportError(f"objects.py defines no {name!r}; it defines: {defined}")
    return module


def _refusal(name: str, level: int, allowed: frozenset[str]) -> str:
    if level or name.partition(".")[0] == "procedures":
        return "a procedure must not import another procedure; move shared code to objects.py"
    return f"module {name!r} is not available; allowed: objects, {', '.join(sorted(allowed))}"
