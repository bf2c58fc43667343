"""Use up what there is: memory, stack, descriptors, output, the patience of the compiler."""

from __future__ import annotations

from tests.sandbox.hostile.attack import EXHAUSTING, REACH, Attack, denied

USE = "from objects import Box\nBox(1)\n"
DEEP = ("killed", "exception", "memory", "timeout")
UNREADABLE = ("syntax", "memory", "killed", "exception")

ATTACKS = {
    "memory": Attack("x = [0]\nwhile True:\n    x += x\n", ("memory",), "limit is", EXHAUSTING),
    "memory_at_once": Attack("x = 'x' * 10**10\n", ("memory",), "MemoryError", EXHAUSTING),
    "memory_in_small": Attack(
        "x = []\nwhile True:\n    x = [x, {}, object()]\n", ("memory", "timeout"), "", EXHAUSTING
    ),
    "memory_mapped": Attack(
        REACH + "flags = {'flags': 0x22}\n[modules['mmap'].mmap(-1, 1 << 20, **flags) for _ in range(10**4)]",
        ("exception", "memory"),
        "",
    ),
    "memory_and_no_word": Attack(
        REACH + "held = []\ntry:\n    while True:\n        held.append(bytearray(1000))\n"
        "except MemoryError:\n    raise ValueError(held)",
        ("memory", "exception", "timeout", "killed"),
        "",
    ),
    "width": Attack(USE + "format(1, '999999999')", ("memory",), "MemoryError"),
    "replaced": Attack(
        USE + "x = 'aa'\nwhile True:\n    x = x.replace('a', 'aa')\n", ("memory", "timeout"), "limit is"
    ),
    "decompressed": Attack(
        USE + "x = (b'a' * 255).decode()\nfor _ in range(9):\n    x = ''.join(x for _ in x[:255])\n",
        ("memory",),
        "limit is",
    ),
    "precision": Attack(
        USE + "import decimal\ndecimal.getcontext().prec = 10**9\ndecimal.Decimal(1) / 3", ("memory",), ""
    ),
    "many_bits": Attack(USE + "import random\nrandom.getrandbits(1 << 33)", ("memory", "exception"), ""),
    "deep_regex": Attack(
        USE + "import re\nre.compile('(' * 10**5)", ("exception", "memory", "killed"), "", EXHAUSTING
    ),
    "pages_of_types": Attack(
        USE + "t = int\nwhile True:\n    t = dict[t, t]\n    hash(t)\n", ("memory", "timeout", *DEEP), ""
    ),
    "output": Attack("while True:\n    print('x' * 100)\n", ("output",), "printed more", EXHAUSTING),
    "output_at_once": Attack(USE + "print('x' * 10**7)", ("output",), "printed more", EXHAUSTING),
    "output_of_errors": Attack(
        REACH + "while True:\n    sys.stderr.write('x' * 100)\n", ("output",), "printed more"
    ),
    "output_by_descriptor": denied("while True:\n    os.write(1, b'x' * 65536)"),
    "recursion": Attack("def f():\n    f()\nf()\n", ("exception",), "RecursionError"),
    "unlimited_recursion": Attack(
        REACH + "sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self):\n        return repr(self)\n"
        "repr(A())",
        DEEP,
        "",
        EXHAUSTING,
    ),
    "deep_repr": Attack(
        USE + "x = []\nfor _ in range(10**5):\n    x = [x]\nrepr(x)",
        ("exception",),
        "RecursionError",
        EXHAUSTING,
    ),
    "deep_comparison": Attack(
        USE + "x, y = [], []\nfor _ in range(10**5):\n    x, y = [x], [y]\nx == y",
        ("exception",),
        "Recursion",
    ),
    "deep_cause": Attack(
        USE
        + "e = None\nfor i in range(10**5):\n    n = ValueError(i)\n    n.__cause__ = e\n    e = n\nraise e",
        ("exception", "killed"),
        "",
    ),
    "deep_release": Attack(
        USE + "class A:\n    pass\nx = A()\nfor _ in range(10**5):\n    y = A()\n    y.x = x\n    x = y\n"
        "del x, y\nraise ValueError('released')",
        ("exception", "killed"),
        "",
    ),
    "huge_message": Attack(
        USE + "raise ValueError('x' * 10**7)", ("exception",), "ValueError: xxx", EXHAUSTING
    ),
    "huge_name": Attack(
        USE + "raise type('E' * 10**6, (Exception,), {})('short')", ("exception",), "EEEE", EXHAUSTING
    ),
    "huge_line": Attack(USE + "x = 1 / 0 #" + "x" * 50_000, ("exception",), "ZeroDivisionError", EXHAUSTING),
    "huge_group": Attack(
        USE + "raise ExceptionGroup('g', [ValueError(i) for i in range(10**5)])", ("exception",), ""
    ),
    "huge_number": Attack(USE + "str(10**(10**5))", ("exception",), "Exceeds the limit", EXHAUSTING),
    "descriptors": denied("[os.dup(0) for _ in range(10**5)]"),
    "pipes": denied("[os.pipe() for _ in range(100)]"),
    "files": denied("[open('$FILE.%d' % i, 'w') for i in range(10**5)]", follows=EXHAUSTING),
    "raise_file_limit": Attack(
        REACH + "r = modules['resource']\nr.setrlimit(r.RLIMIT_FSIZE, (1 << 30, 1 << 30))",
        ("exception",),
        "not allowed to raise",
    ),
    # the compiler
    "deep_source": Attack("(" * 50_000, UNREADABLE, ""),
    "deep_minus": Attack("x = " + "-" * 50_000 + "1", UNREADABLE, ""),
    "deep_sum": Attack("x = " + "1+" * 50_000 + "1", UNREADABLE, ""),
    "deep_attribute": Attack("x = a" + ".b" * 40_000, UNREADABLE, ""),
    "deep_lambda": Attack("x = " + "lambda:" * 20_000 + "1", UNREADABLE, ""),
    "deep_indent": Attack(
        "".join(" " * depth + "if 1:\n" for depth in range(300)) + " " * 300 + "pass", UNREADABLE, ""
    ),
    "many_blocks": Attack(
        "".join(" " * depth + "for i in ():\n" for depth in range(30)) + " " * 30 + "pass", UNREADABLE, ""
    ),
    "long_number": Attack("x = " + "9" * 100_000, UNREADABLE, ""),
    "constant_folding": Attack(
        USE + "x = ((1 << 10**9) * 'a' * 10**9)", ("memory", "timeout", "exception"), "", EXHAUSTING
    ),
    "generated_source": Attack(
        USE + "compile('+'.join(['1'] * 10**6), 'x', 'eval')", ("memory", "exception", "killed"), ""
    ),
}
