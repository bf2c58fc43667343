"""Leave something for the next procedure, or look for what another one left."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REACH, Attack, denied

ATTACKS = {
    "shared_pages": denied("modules['mmap'].mmap(-1, 4096)"),
    "shared_pages_native": Attack(
        NATIVE + "lib.mmap.restype = ctypes.c_long\n"
        "if lib.mmap(0, 4096, 3, 0x21, -1, 0) == -1:\n    raise RuntimeError(-1, ctypes.get_errno())",
        ("exception",),
        "RuntimeError: (-1, 1)",
    ),
    "null_device": Attack(REACH + "modules['mmap'].mmap(0, 4096)", ("exception",), "Error"),
    "temporary_file": denied("open('/tmp/for-the-next', 'w')"),
    "shared_memory_file": denied("open('/dev/shm/for-the-next', 'w')"),
    "named_pipe": denied("os.mkfifo('/tmp/for-the-next')"),
    "descriptor_flags": denied("os.set_blocking(0, False)"),
    "descriptor_offset": denied("os.lseek(0, 7, 0)"),
    "report_channel": Attack(
        REACH + "for one in range(3, 40):\n    try:\n        socket.socket(fileno=one).shutdown(2)\n"
        "    except OSError as error:\n        last = error\nraise last",
        ("exception",),
        "PermissionError",
    ),
}

LEAVE = (
    REACH
    + """
import collections, decimal, random, objects
objects.left = collections.left = json.left = Box.left = 1
Box.add = lambda *_: 99
__builtins__["left"] = sys.left = os.environ["left"] = "1"
modules["left"] = json
sys.setrecursionlimit(333)
decimal.getcontext().prec = 3
random.seed(1)
random.random()
sys.set_int_max_str_digits(0)
modules["resource"].setrlimit(modules["resource"].RLIMIT_NOFILE, (1, 1))
"""
)
"""Leaves what it can, and passes."""
LOOK = (
    REACH
    + """
import collections, decimal, random, objects
for place in (objects, collections, json, Box, sys):
    assert not hasattr(place, "left"), place
assert "left" not in __builtins__ and "left" not in modules and "left" not in os.environ
assert Box(1).add(2) == 3
assert sys.getrecursionlimit() != 333 and sys.get_int_max_str_digits() != 0
assert decimal.getcontext().prec == 28
"""
)
"""Passes where nothing was left."""
DRAW = REACH + "import random\nprint(random.random(), random.Random().random(), hash('word'))\n"
"""Says the same wherever it runs."""
