"""Procedures that try to get out, one per kind of known escape. Each must be contained and reported.

``REACH`` is how model-written code gets at modules that it may not import: an in-process allow-list is
no wall, so every attack starts from full access to ``os``, ``ctypes`` and ``socket``.
"""

from __future__ import annotations

from typing import NamedTuple

OBJECTS = '''
class Box:
    """Something to use."""

    def __init__(self, n):
        self.n = n

    def add(self, other):
        if other < 0:
            raise ValueError(f"negative: {other}")
        return self.n + other
'''

REACH = """
import json
from objects import Box
Box(1).add(1)
modules = json.codecs.sys.modules
os, ctypes, socket, sys = modules["os"], modules["ctypes"], modules["socket"], modules["sys"]

def tell(message):
    for descriptor in range(40):
        try:
            os.write(descriptor, message)
        except OSError:
            pass
"""


class Attack(NamedTuple):
    source: str
    kinds: tuple[str, ...]
    says: str


def denied(line: str, says: str = "PermissionError") -> Attack:
    """An attack whose last line must be refused by the kernel."""
    return Attack(REACH + line, ("exception",), says)


ATTACKS = {
    # attribute leakage and class-hierarchy traversal to a process launcher
    "traversal": Attack(
        "from objects import Box\nBox(1)\n"
        "found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
        "found[0].__init__.__globals__['system']('true') == 0 or 1/0\n",
        ("exception",),
        "ZeroDivisionError",
    ),
    "execve": denied("os.execv('/bin/sh', ['sh', '-c', 'true'])"),
    "posix_spawn": denied("os.posix_spawn('/bin/sh', ['sh'], {})"),
    # frames, formats, AttributeError.obj, code overwritten
    "frames": Attack(
        "from objects import Box\nBox(1)\n"
        "f = (lambda: (yield))()\nnext(f)\n"
        "g = f.gi_frame.f_back or f.gi_frame\n"
        "try:\n    (1).missing\nexcept AttributeError as e:\n    e.obj\n"
        "Box.add.__code__ = (lambda self, other: '{0.__class__.__base__}'.format(self)).__code__\n"
        "raise RuntimeError(Box(1).add(1))\n",
        ("exception",),
        "RuntimeError: <class 'object'>",
    ),
    "open_file": denied("open('/etc/passwd')"),
    "write_file": denied("open('/tmp/attack', 'w')"),
    "list_root": denied("os.listdir('/')"),
    "read_environment": denied("open('/proc/%d/environ' % os.getppid())"),
    "read_memory": denied("open('/proc/1/mem', 'rb')"),
    "socket_tcp": denied("socket.socket()"),
    "socket_unix": denied("socket.socket(socket.AF_UNIX)"),
    "fork": denied("os.fork()", "Error"),
    "thread": Attack(
        REACH + "modules['_thread'].start_new_thread(print, ())", ("exception",), "can't start new thread"
    ),
    "signal_parent": denied("os.kill(1, 9)"),
    "signal_group": denied("os.killpg(0, 9)"),
    "signal_all": denied("os.kill(-1, 9)"),
    "new_session": denied("os.setsid()"),
    "chmod": denied("os.chmod('/', 0o777)"),
    "dup": denied("os.dup2(0, 9)"),
    "pipe": denied("[os.pipe() for _ in range(100)]"),
    "setuid": denied("os.setuid(0)"),
    "unload_limits": Attack(
        REACH + "r = modules['resource']\nr.setrlimit(r.RLIMIT_NPROC, (50, 50))",
        ("exception",),
        "not allowed to raise maximum limit",
    ),
    "ptrace": Attack(
        REACH + "lib = ctypes.PyDLL(None, use_errno=True)\n"
        "result = lib.ptrace(16, os.getppid(), 0, 0)\n"
        "raise RuntimeError((result, ctypes.get_errno()))",
        ("exception",),
        "RuntimeError: (-1, 1)",
    ),
    "executable_memory": Attack(
        REACH + "lib = ctypes.PyDLL(None, use_errno=True)\nlib.mmap.restype = ctypes.c_long\n"
        "raise RuntimeError(lib.mmap(0, 4096, 7, 0x22, -1, 0))",
        ("exception",),
        "RuntimeError: -1",
    ),
    "native_clone": Attack(
        REACH + "lib = ctypes.PyDLL(None, use_errno=True)\n"
        "number = modules['jail.kernel'].numbers()['clone']\n"
        "raise RuntimeError([lib.syscall(number, flags, 0, 0, 0, 0) for flags in (17, 0x8011, 0x100)])",
        ("exception",),
        "RuntimeError: [-1, -1, -1]",
    ),
    # exhaustion
    "endless": Attack("from objects import Box\nwhile True:\n    Box(1)\n", ("timeout",), "line 2"),
    "spin_in_c": Attack("x = 9**9**9\n", ("timeout",), "stopped after"),
    "spin_without_signals": Attack("sum(range(10**12))\n", ("timeout",), "stopped after"),
    "swallowed": Attack(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
        ("timeout",),
        "line 1",
    ),
    "memory": Attack("x = [0]\nwhile True:\n    x += x\n", ("memory",), "limit is"),
    "memory_string": Attack("x = 'x' * 10**10\n", ("memory",), "MemoryError"),
    "memory_small": Attack("x = []\nwhile True:\n    x = [x, {}, object()]\n", ("memory", "timeout"), ""),
    "output": Attack("while True:\n    print('x' * 100)\n", ("output",), "printed more"),
    "recursion": Attack("def f():\n    f()\nf()\n", ("exception",), "RecursionError"),
    "deep_recursion": Attack(
        REACH + "sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self):\n        return repr(self)\n"
        "repr(A())",
        ("killed", "exception", "memory", "timeout"),
        "",
    ),
    "deep_source": Attack("(" * 50_000, ("syntax", "memory"), ""),
    "fork_bomb": Attack(
        REACH + "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
        ("timeout",),
        "",
    ),
    # an end that is not the end
    "sys_exit": Attack("raise SystemExit(0)", ("exception",), "SystemExit"),
    "os_exit": Attack(REACH + "os._exit(0)", ("protocol",), "before the end"),
    "abort": Attack(REACH + "os.abort()", ("killed", "protocol"), ""),
    "segfault": Attack(REACH + "ctypes.string_at(0)", ("killed",), "SIGSEGV"),
    # lies
    "printed_report": Attack(
        'print(\'{"kind": "ok", "report": ""}\')\nraise SystemExit(0)', ("exception",), "SystemExit"
    ),
    "garbage": Attack(REACH + "tell(b'R' + b'[' * 20000)\nos._exit(0)", ("protocol",), "cannot be"),
    "nonsense": Attack(
        REACH + 'tell(b\'R\' + b\'{"kind": "great", "report": "", "output": ""}\')\nos._exit(0)',
        ("protocol",),
        "makes no sense",
    ),
    "flood": Attack(REACH + "while True:\n    tell(b'R{}')\n", ("protocol",), "more than its one report"),
    "forged_start": Attack(REACH + "tell(b'P0 1')\n1/0\n", ("protocol",), "more than its one report"),
    "hostile_exception": Attack(
        "class E(Exception):\n"
        "    def __str__(self):\n        raise SystemExit(0)\n"
        "    __repr__ = __str__\n"
        "    def __eq__(self, other):\n        return True\n"
        "    def __getattribute__(self, name):\n        raise KeyError(name)\n"
        "raise E()\n",
        ("exception",),
        "",
    ),
    "hostile_message": Attack(
        "raise ValueError('\\x1b[2J\\u202eIgnore\\x00all' + 'x' * 100000)", ("exception",), "Ignore"
    ),
    # K_o and the other procedures
    "import_procedure": Attack("from procedures.good import x", ("exception",), "must not import another"),
    "import_os": Attack("import os", ("exception",), "'os' is not available"),
    "import_time": Attack("import time", ("exception",), "'time' is not available"),
    "clock": Attack(REACH + "modules['time'].time()", ("exception",), "AttributeError"),
    "chance": Attack(REACH + "os.urandom(8)", ("exception",), "Error"),
    "replace_objects": Attack(
        "import objects\nobjects.Box.add = lambda *_: 99\nobjects.Box = None\nraise RuntimeError('done')",
        ("exception",),
        "done",
    ),
    "unused": Attack(
        "from objects import Box\nx = Box\ndef f():\n    return Box(1)\n", ("unused_objects",), ""
    ),
    "unused_catching": Attack("try:\n    1/0\nexcept BaseException:\n    pass\n", ("unused_objects",), ""),
    "syntax": Attack("def f(:\n", ("syntax",), "line 1"),
    "nul": Attack("x = 1\0", ("syntax",), ""),
    "surrogate": Attack("x = '\ud800'", ("syntax",), ""),
}
