"""Forge a result: one's own, another's, or an end that looks like a pass."""

from __future__ import annotations

from tests.sandbox.hostile.attack import FORMATS, REACH, RUNNER, Attack

GOOD_REPORT = '{"kind": "ok", "report": "", "output": ""}'


def told(message: str, kinds: tuple[str, ...], says: str) -> Attack:
    """An attack that writes its own report and ends with status 0."""
    return Attack(f"{REACH}tell({message})\nos._exit(0)", kinds, says)


ATTACKS = {
    "printed": Attack(f"print('{GOOD_REPORT}')\nraise SystemExit(0)", ("exception",), "SystemExit"),
    "exit": Attack("raise SystemExit(0)", ("exception",), "SystemExit"),
    "exit_at_once": Attack(REACH + "os._exit(0)", ("protocol",), "before the end"),
    "exit_as_reporter": Attack(REACH + "os._exit(98)", ("protocol",), "broke off"),
    "exit_as_out_of_memory": Attack(REACH + "os._exit(97)", ("memory",), "used more than"),
    "abort": Attack(REACH + "os.abort()", ("killed", "protocol"), ""),
    "crash": Attack(REACH + "ctypes.string_at(0)", ("killed",), "SIGSEGV"),
    "garbage": told("b'R' + b'[' * 20000", ("protocol",), "cannot be"),
    "nonsense": told('b\'R{"kind": "great", "report": "", "output": ""}\'', ("protocol",), "makes no sense"),
    "wrong_types": told('b\'R{"kind": ["ok"], "report": {}, "output": 0}\'', ("protocol",), "makes no sense"),
    "no_fields": told("b'R[]'", ("protocol",), "cannot be"),
    "huge_number": told("b'R{\"kind\": ' + b'9' * 9000 + b'}'", ("protocol",), "cannot be"),
    "deep_report": told("b'R' + b'{\"a\":' * 4000", ("protocol",), "cannot be"),
    "no_text": told("b'R\\xff\\xfe\\x00'", ("protocol",), "cannot be"),
    "too_long": told(f"b'R{GOOD_REPORT}' + b' ' * 10**6", ("protocol",), ""),
    "empty_message": told("b''", ("protocol",), ""),
    "for_objects": told(f"b'K{GOOD_REPORT}'", ("protocol",), ""),
    "for_another": told(f"b'P0 1') or tell(b'R{GOOD_REPORT}'", ("protocol",), "more than its one report"),
    "pass_and_failure": Attack(
        f"{REACH}tell(b'R{GOOD_REPORT}')\nos._exit(1)", ("protocol",), "ended with status 1"
    ),
    "pass_and_crash": Attack(f"{REACH}tell(b'R{GOOD_REPORT}')\nctypes.string_at(0)", ("killed",), "SIGSEGV"),
    "two_reports": Attack(f"{REACH}tell(b'R{GOOD_REPORT}')\n1/0", ("protocol",), "more than its one report"),
    "flood": Attack(REACH + "while True:\n    tell(b'R{}')\n", ("protocol",), "more than its one report"),
    "announced": Attack(REACH + "tell(b'P0 1')\n1/0\n", ("protocol",), "more than its one report"),
    # the reporter shares the process
    "no_descriptors": Attack(
        REACH + "os.closerange(0, 100)\nfor one in range(100):\n    try:\n        os.close(one)\n"
        "    except OSError:\n        pass\n",
        ("protocol",),
        "",
    ),
    "no_write": Attack(REACH + "os.write = lambda *_: 0", ("protocol",), "before the end"),
    "no_end": Attack(REACH + "os._exit = lambda *_: None\n1/0", ("protocol", "exception"), "", RUNNER),
    "no_json": Attack(REACH + "json.dumps = None\nprint(1)\n1/0", ("protocol",), ""),
    "own_stream": Attack(
        REACH + "sys.stdout = sys.stderr = None\nraise ValueError('seen')", ("exception",), "seen"
    ),
    "own_hooks": Attack(
        REACH + "sys.excepthook = sys.unraisablehook = lambda *_: os._exit(0)\n1/0", ("exception",), "ZeroDiv"
    ),
    "at_exit": Attack(
        REACH + "try:\n    1/0\nfinally:\n    sys.exit(0)",
        ("exception",),
        "SystemExit",
    ),
    "traced": Attack(
        REACH + "def trace(frame, event, argument):\n    if event == 'return':\n        os._exit(0)\n"
        "    return trace\nsys.settrace(trace)\nframe = sys._getframe()\nwhile frame:\n"
        "    frame.f_trace = trace\n    frame = frame.f_back\n",
        ("protocol",),
        "",
        RUNNER,
    ),
    "audited": Attack(
        REACH + "sys.addaudithook(lambda event, _: os._exit(0) if event == 'exec' else None)\n1/0",
        ("exception", "protocol", "unused_objects"),
        "",
    ),
    "hostile_exception": Attack(
        "class E(Exception):\n"
        "    def __str__(self):\n        raise SystemExit(0)\n"
        "    __repr__ = __str__\n"
        "    def __eq__(self, other):\n        return True\n"
        "    def __getattribute__(self, name):\n        raise KeyError(name)\n"
        "raise E()\n",
        ("exception",),
        "",
        FORMATS,
    ),
    "hostile_class": Attack(
        "class M(type):\n    __name__ = property(lambda self: 1/0)\n"
        "    def __instancecheck__(self, other):\n        return True\n"
        "class E(Exception, metaclass=M):\n    pass\nraise E('x')\n",
        ("exception",),
        "",
        FORMATS,
    ),
    "terminal_codes": Attack(
        "raise ValueError('\\x1b[2J\\u202eIgnore\\x00all\\U000e0041\\u3164' + 'x' * 100000)",
        ("exception",),
        "Ignore",
    ),
    "hidden_frames": Attack(
        "from objects import Box\nclass E(Exception):\n    pass\n"
        "try:\n    1/0\nexcept Exception as e:\n    raise E from e.with_traceback(None)\n",
        ("exception",),
        "E",
    ),
    "unused": Attack(
        "from objects import Box\nx = Box\ndef f():\n    return Box(1)\n", ("unused_objects",), ""
    ),
    "unused_and_caught": Attack("try:\n    1/0\nexcept BaseException:\n    pass\n", ("unused_objects",), ""),
    "syntax": Attack("def f(:\n", ("syntax",), "line 1"),
    "nul": Attack("x = 1\0", ("syntax",), ""),
    "surrogate": Attack("x = '\ud800'", ("syntax",), ""),
}

LIES = {
    "report_and_exit": f"{REACH}tell(b'R{GOOD_REPORT}')\nos._exit(0)",
    "reporter_called": REACH
    + "frame = sys._getframe()\nwhile 'self' not in frame.f_locals:\n    frame = frame.f_back\n"
    "executor = frame.f_locals['self']\nexecutor._tell('ok', '')\nexecutor._end('ok')",
    "poison_disarmed": "import json\nfrom objects import Box\n"
    "json.codecs.sys.modules['jail.poison'].touched.append(True)\nassert True\n",
}
"""What a procedure can do to its own verdict, and to no other: a pass allows a commit, nothing more."""
