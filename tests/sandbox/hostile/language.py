"""Escapes from interpreters that guard the language itself: here nothing depends on such a guard."""

from __future__ import annotations

from tests.sandbox.hostile.attack import FORMATS, FRAMES, GETATTR, OVERWRITTEN, REACH, Attack

USE = "from objects import Box\nBox(1)\n"
OPEN = "PermissionError"

ATTACKS = {
    "frames": Attack(
        USE + "f = (lambda: (yield))()\nnext(f)\n"
        "def outer(frame):\n    return outer(frame.f_back) if frame.f_back else frame\n"
        "try:\n    1/0\nexcept Exception as e:\n    top = outer(e.__traceback__.tb_frame)\n"
        "top.f_builtins['open']('/etc/passwd')",
        ("exception",),
        OPEN,
        FRAMES,
    ),
    "generator_frame": Attack(
        USE + "import json\ng = (g.gi_frame.f_back.f_back for _ in [1])\nframe = [*g][0]\n"
        "frame.f_globals['__builtins__']['open']('/etc/passwd')",
        ("exception",),
        "Error",
        FRAMES,
    ),
    "attribute_error": Attack(
        USE + "import json\ntry:\n    json.codecs.missing\nexcept AttributeError as e:\n"
        "    e.obj.sys.modules['os'].open('/etc/passwd', 0)",
        ("exception",),
        OPEN,
        FRAMES,
    ),
    "except_star": Attack(
        USE + "import json\ntry:\n    raise ExceptionGroup('g', [ValueError(json.codecs)])\n"
        "except* ValueError as group:\n    group.exceptions[0].args[0].open('/etc/passwd')",
        ("exception",),
        OPEN,
        FRAMES,
    ),
    "shadowed_guard": Attack(
        USE + "__builtins__['__import__'] = None\nimport os",
        ("exception",),
        "Error",
        FRAMES,
    ),
    "format_field": Attack(
        USE + "text = '{0.add.__globals__[__builtins__][open]}'.format(Box(1))\nraise RuntimeError(text)",
        ("exception",),
        "RuntimeError: <built-in function open>",
        FORMATS,
    ),
    "code_overwritten": Attack(
        USE + "Box.add.__code__ = (lambda self, other: open('/etc/passwd')).__code__\nBox(1).add(1)",
        ("exception",),
        OPEN,
        OVERWRITTEN,
    ),
    "code_made": Attack(
        USE + "import types\ncode = (lambda: 0).__code__.replace(co_code=bytes(2000), co_stacksize=0)\n"
        "types.FunctionType(code, {})()\n",
        ("killed", "exception", "timeout", "memory", "protocol"),
        "",
        OVERWRITTEN,
    ),
    "augmented": Attack(
        USE + "import json\nclass A:\n    m = json\n    def __iadd__(self, o):\n"
        "        return self.m.codecs.sys.modules['os'].listdir('/')\na = A()\na += 1",
        ("exception",),
        OPEN,
        OVERWRITTEN,
    ),
    "own_import": Attack(
        USE + "import types\nimporter = types.__loader__\n"
        "sys = __builtins__['__import__'].__globals__['sys']\nsys.modules['_io'].open('/etc/passwd')",
        ("exception",),
        OPEN,
        GETATTR,
    ),
    "built_ins": Attack(
        USE + "eval(compile('open(\"/etc/passwd\")', 'procedures/x.py', 'eval'))",
        ("exception",),
        OPEN,
        GETATTR,
    ),
    "late_delete": Attack(
        REACH + 'class Late:\n    def __del__(self):\n        tell(b\'R{"kind": "ok"}\')\n'
        "objects_ = modules['objects']\nobjects_.late = Late()\nraise RuntimeError('and later')",
        ("exception",),
        "and later",
        FORMATS,
    ),
    "pickled": Attack(
        USE + "class Evil:\n    def __reduce__(self):\n        return (open, ('/etc/passwd',))\n"
        "import copy\ncopy.copy(Evil())",
        ("exception",),
        OPEN,
        FORMATS,
    ),
    "import_os": Attack("import os", ("exception",), "'os' is not available", GETATTR),
    "relative_import": Attack("from . import secrets", ("exception",), "must not import another", GETATTR),
}
