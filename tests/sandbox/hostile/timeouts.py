"""Outlive the limits on time."""

from __future__ import annotations

from tests.sandbox.hostile.attack import EXHAUSTING, NATIVE, REACH, Attack

SPIN = "while True:\n    pass\n"
STOPPED = "stopped after"
BLOCK = "signals = modules['_signal']\nsignals.pthread_sigmask(signals.SIG_BLOCK, range(1, 64))\n"


def late(source: str, says: str = STOPPED) -> Attack:
    return Attack(source, ("timeout",), says, EXHAUSTING)


ATTACKS = {
    "endless": late("from objects import Box\nwhile True:\n    Box(1)\n", "line 2"),
    "spin_in_c": late("x = 9**9**9\n"),
    "spin_without_signals": late("sum(range(10**12))\n"),
    "swallowed": late(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n", "line 1"
    ),
    "finally_again": late("def f():\n    try:\n        f()\n    finally:\n        f()\nf()\n"),
    "regex": late("import re\nre.match('(a+)+$', 'a' * 60 + 'b')\n"),
    "collisions": late(
        "class K:\n    def __hash__(self):\n        return 1\n"
        "    def __eq__(self, other):\n        return False\n"
        "{K() for _ in range(10**6)}\n"
    ),
    "factorial": late("import math\nmath.factorial(10**8)\n"),
    "number_as_text": late(REACH + "sys.set_int_max_str_digits(0)\nstr(10**(10**7))\n"),
    "endless_description": late(
        "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E\n"
    ),
    "fork_bomb": Attack(
        REACH + "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
        ("timeout",),
        STOPPED,
        EXHAUSTING,
    ),
    "own_timer": late(
        REACH
        + "s = modules['_signal']\ns.setitimer(s.ITIMER_PROF, 0)\ns.setitimer(s.ITIMER_REAL, 0)\n"
        + SPIN
    ),
    "own_handler": Attack(
        REACH + "s = modules['_signal']\ns.signal(s.SIGPROF, s.SIG_IGN)\n" + SPIN,
        ("exception",),
        "PermissionError",
        EXHAUSTING,
    ),
    "blocked_signals": late(REACH + BLOCK + SPIN),
    "blocked_and_asleep": late(
        REACH + BLOCK + "lock = modules['_thread'].allocate_lock()\nlock.acquire()\nlock.acquire()\n"
    ),
    "asleep": late(REACH + "lock = modules['_thread'].allocate_lock()\nlock.acquire()\nlock.acquire()\n"),
    "asleep_reading": late(
        REACH + "for descriptor in range(3, 40):\n    try:\n        os.read(descriptor, 1)\n"
        "    except OSError:\n        pass\n" + SPIN
    ),
    "paused": late(REACH + "while True:\n    modules['_signal'].pause()\n"),
    "stopped": Attack(
        NATIVE + "assert getattr(lib, 'raise')(19) == 0\n",
        ("exception",),
        "AssertionError",
        EXHAUSTING,
    ),
    "slept_through_the_kernel": Attack(
        NATIVE + "call({'x86_64': 35, 'aarch64': 101}[modules['jail.kernel'].MACHINE], id((9**9,)) + 24, 0)",
        ("exception",),
        "RuntimeError: (-1, 1)",
        EXHAUSTING,
    ),
    "more_processor_time": Attack(
        REACH + "r = modules['resource']\nr.setrlimit(r.RLIMIT_CPU, (99, 99))\n",
        ("exception",),
        "not allowed to raise",
        EXHAUSTING,
    ),
    "late_reporter": late(
        REACH + "def never(*_, **__):\n    while True:\n        pass\n"
        "json.dumps = modules['jail.report'].describe = never\n1/0\n"
    ),
    "collected": late(
        REACH + "def never(*_):\n    while True:\n        pass\n"
        "modules['gc'].callbacks.append(never)\nmodules['gc'].collect()\n"
    ),
}
