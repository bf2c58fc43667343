"""Behave differently the second time."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REACH, Attack, denied

USE = "from objects import Box\nBox(1)\n"


def drawn(expression: str, before: str = "") -> Attack:
    """Fails with a message that differs where ``expression`` does."""
    return Attack(f"{REACH}{before}raise RuntimeError({expression})", ("exception",), "")


ATTACKS = {
    "import_time": Attack("import time", ("exception",), "'time' is not available"),
    "clock": Attack(REACH + "modules['time'].time()", ("exception",), "AttributeError"),
    "other_clocks": drawn(
        "[held for one in modules['gc'].get_objects() if type(one) is dict for held in one.values()"
        " if getattr(held, '__module__', '') == 'time' and callable(held)]"
    ),
    "clock_by_call": Attack(
        NATIVE
        + "call({'x86_64': 228, 'aarch64': 113}[modules['jail.kernel'].MACHINE], 1, id(bytes(64)) + 32)",
        ("exception",),
        "RuntimeError: (-1, 1)",
    ),
    "used_time": denied("modules['resource'].getrusage(0)", "Error"),
    "chance": denied("os.urandom(8)", "Error"),
    "chance_class": denied("import random\nrandom.SystemRandom().random()", "Error"),
    "random": drawn("random.random(), random.Random().random()", "import random\nrandom.seed()\n"),
    "shuffled": drawn("random.sample(range(10**6), 9)", "import random\n"),
    "set_order": drawn("list({letter * 3 for letter in 'some letters in a set'})"),
    "hash": drawn("hash('word'), hash(b'word'), hash(frozenset('abc'))"),
    "environment": drawn("sorted(os.environ.items())"),
    "collector": drawn("modules['gc'].get_threshold(), modules['gc'].isenabled()"),
    "addresses_shown": drawn("object(), Box, Box(1).add, len"),
}

UNBOUND = {
    "address": Attack(f"{USE}if id(object()) // 4096 % 2:\n    raise ValueError", ("ok", "exception"), ""),
    "default_hash": Attack(
        USE + "class A:\n    pass\nif hash(A()) // 4096 % 2:\n    raise ValueError", ("ok", "exception"), ""
    ),
    "native_clock": Attack(
        NATIVE + "now = (ctypes.c_long * 2)()\nlib.clock_gettime(1, now)\n"
        "if now[1] // 1000 % 2:\n    raise ValueError",
        ("ok", "exception"),
        "",
    ),
    "used_up": Attack(
        REACH + "s = modules['_signal']\n"
        "if int(s.setitimer(s.ITIMER_PROF, 1)[0] * 10**6) % 2:\n    raise ValueError",
        ("ok", "exception"),
        "",
    ),
}
"""What is hidden and not walled: such code may pass once and fail once, and nothing else."""
