"""Names and texts of a memory that mean harm: they are read by this project itself, outside the sandbox."""

from __future__ import annotations

import time
from pathlib import PurePosixPath

import pytest

from knowledge_store.errors import KnowledgeError, PathError
from knowledge_store.index import level0
from knowledge_store.memory import apply, check_path, size
from knowledge_store.merge import merge
from knowledge_store.rules import check
from ocm.types import Change

OBJECTS = "class Log:\n    burns = True\n"
USE = "from objects import Log\n\nassert Log().burns\n"
PATHS = {
    "slip": "procedures/../../x.py",
    "slip_in_the_middle": "procedures/a/../../../x.py",
    "slip_at_the_end": "procedures/x.py/..",
    "slip_encoded": "procedures/%2e%2e/x.py",
    "slip_windows": "procedures\\..\\..\\x.py",
    "slip_full_width": "procedures/．．/x.py",
    "absolute": "/etc/cron.d/x.py",
    "absolute_twice": "//host/share/x.py",
    "home": "~/x.py",
    "drive": "C:/x.py",
    "stream": "procedures/x.py:hidden.py",
    "nul": "procedures/x.py\0.md",
    "line_end": "procedures/x.py\n",
    "carriage_return": "procedures/x\r.py",
    "escape_codes": "procedures/\x1b[2Jx.py",
    "right_to_left": "procedures/x\u202eyp.py",
    "zero_width": "procedures/x\u200b.py",
    "look_alike": "procedures/оpen.py",
    "look_alike_folder": "рrocedures/open.py",
    "division_slash": "procedures∕x.py",
    "markup": "procedures/<script>alert(1)</script>.py",
    "image": "procedures/![](http:x).py",
    "shell": "procedures/$(touch x).py",
    "option": "procedures/-rf.py",
    "long": f"procedures/{'a' * 200}.py",
    "deep": "a/" * 99 + "x.py",
    "empty": "",
    "dot": ".",
    "hidden": "procedures/.x.py",
    "hidden_folder": ".git/hooks/x.py",
    "git_attributes": ".gitattributes",
    "program": "procedures/x.sh",
    "library": "procedures/x.so",
    "path_file": "procedures/x.pth",
    "compiled": "procedures/__pycache__/x.pyc",
    "archive": "procedures/x.zip",
    "space": "procedures/x .py",
    "surrogate": "procedures/\ud800.py",
    "windows_device": "procedures/con.py",
    "windows_device_upper": "procedures/NUL.py",
    "windows_device_folder": "aux/x.py",
    "windows_device_numbered": "procedures/com1.tar.py",
}


@pytest.mark.parametrize("name", PATHS)
def test_no_memory_has_such_a_path(name: str) -> None:
    with pytest.raises(PathError):
        check_path(PATHS[name])
    with pytest.raises(PathError):
        apply({}, (Change(PATHS[name], "x"),))
    verdicts = check(OBJECTS, {PATHS[name]: USE})
    assert [verdict.path for verdict in verdicts] == [PATHS[name]] and "rename the file" in verdicts[0].report
    assert len(verdicts[0].report) < 2_000


@pytest.mark.parametrize(
    "path", ["objects.py", "procedures/a.py", "procedures/con_air.py", "notes/context.md"]
)
def test_honest_paths_stay_inside(path: str) -> None:
    assert check_path(path) == path
    assert ".." not in PurePosixPath(path).parts


TEXTS = {
    "parentheses": "(" * 50_000,
    "minus": "x = " + "-" * 50_000 + "1",
    "sum": "x = " + "1+" * 50_000 + "1",
    "attributes": "x = a" + ".b" * 40_000,
    "calls": "x = f" + "()" * 40_000,
    "lambdas": "x = " + "lambda:" * 20_000 + "1",
    "indents": "".join(" " * depth + "if 1:\n" for depth in range(300)),
    "branches": "if 1:\n    pass\n" + "elif 1:\n    pass\n" * 5_000,
    "digits": "x = " + "9" * 50_000,
    "formats": "x = " + "f'{" * 50 + "1" + "}'" * 50,
    "decorators": "@a\n" * 20_000 + "def f():\n    pass\n",
    "same_names": "x = 1\n" * 10_000,
    "same_classes": "class A:\n    pass\n" * 5_000,
    "carriage_returns": "x = 1\r" * 10_000,
    "many_names": "".join(f"x{number} = 1\n" for number in range(3_000)),
    "many_imports": "from objects import " + ", ".join(f"A{number}" for number in range(10_000)),
    "long_name": "from objects import " + "A" * 100_000,
    "blank": "\f\t \\\n" * 20_000 + "x = 1",
    "semicolons": "x = 1;" * 5_000,
    "nul": "x = 1\0",
    "surrogate": "x = '\ud800'",
    "encoding": "# -*- coding: utf-7 -*-\nx = 1\n",
    "comments": "#" * 100_000 + "\n# x\n" * 20_000,
}
SECONDS = 20.0
"""Most take milliseconds; a square of their size would take minutes."""


@pytest.mark.parametrize("name", TEXTS)
def test_reading_such_a_text_ends_and_gives_a_verdict_or_an_error(name: str) -> None:
    text, started = TEXTS[name], time.process_time()
    for objects, procedure in ((text, USE), (OBJECTS, text)):
        assert all(verdict.report for verdict in check(objects, {"procedures/a.py": procedure}))
    for before, update in ((OBJECTS, text), (text, OBJECTS)):
        try:
            assert merge(before, update).text
        except KnowledgeError as error:
            assert len(error.message) < 1_000
    assert size({"objects.py": text}).files == 1
    assert len(level0({"objects.py": text, "procedures/a.py": text}).text) < 10_000_000
    assert time.process_time() - started < SECONDS
