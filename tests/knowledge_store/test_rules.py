"""Static rules: what is refused, and that the message tells file, line and mend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.rules import Limits, check
from tests.knowledge_store.sources import modules

OBJECTS = "class OakLog:\n    def smelt(self): return 1\n\ndef craft(x): return x\n\nR = {'a': 1}\n"
GOOD = "from objects import craft\nassert craft(1) == 1\n"


def failures(procedure: str, objects: str = OBJECTS, **others: str) -> str:
    files = {"procedures/a.py": procedure, **{f"procedures/{name}.py": text for name, text in others.items()}}
    found = {verdict.path: verdict for verdict in check(objects, files)}
    assert all(not verdict.ok and verdict.report for verdict in found.values())
    return found["procedures/a.py"].report if "procedures/a.py" in found else ""


USES = [
    GOOD,
    "import objects\nobjects.OakLog().smelt()\n",
    "import objects as o\no.craft(1)\n",
    "from objects import OakLog as Log\nkind = Log\nkind()\n",
    "from objects import craft\ndef f(): return craft(1)\nf()\n",
    "from objects import craft\ndef f(): return craft(1)\ndef g(): f()\nassert g() is None\n",
    "from objects import OakLog\nclass Big(OakLog): pass\n",
    "from objects import OakLog\nclass T:\n    def go(self): return OakLog()\nT().go()\n",
    "from objects import craft\ntry:\n    craft(1)\nexcept ValueError:\n    pass\n",
    "from objects import craft\nfor i in range(3):\n    craft(i)\n",
    "from objects import craft\nif __name__ == '__main__':\n    craft(1)\n",
    "from objects import craft\nprint([craft(i) for i in (1, 2)])\n",
    "from objects import craft, R\nassert craft(R['a'])\n",
    "from objects import craft\nmatch craft(1):\n    case 1: pass\n",
    "def f():\n    from objects import craft\n    return craft(1)\nf()\n",
]
UNUSED = [
    "from objects import OakLog\n",
    "from objects import OakLog\nif False:\n    OakLog()\n",
    "from objects import OakLog\nif True:\n    pass\nelse:\n    OakLog()\n",
    "from objects import OakLog\nwhile 0:\n    OakLog()\n",
    "from objects import OakLog\nfor x in []:\n    OakLog()\n",
    "from objects import OakLog\n'OakLog()'  # OakLog()\n",
    "from objects import OakLog\nOakLog\n",
    "from objects import OakLog\nkind = OakLog\n",
    "from objects import OakLog\nx: OakLog = 1\n",
    "from objects import OakLog\ndef f(): return OakLog()\n",
    "from objects import OakLog\ndef f():\n    return 1\n    OakLog()\nf()\n",
    "from objects import OakLog\nraise ValueError\nOakLog()\n",
    "from objects import OakLog\nassert False\nOakLog()\n",
    "from objects import OakLog\ntry:\n    pass\nexcept ValueError:\n    OakLog()\n",
    "from objects import OakLog\nFalse and OakLog()\n",
    "from objects import OakLog\n1 if True else OakLog()\n",
    "from objects import craft\ndef f(craft): return craft(1)\nf(int)\n",
    "from objects import craft\ndef craft(x): return x\ncraft(1)\n",
    "from objects import craft\nx = object()\nx.craft(1)\n",
    "import objects\n",
]


@pytest.mark.parametrize("procedure", USES)
def test_uses_that_count(procedure: str) -> None:
    assert failures(procedure) == ""


@pytest.mark.parametrize("procedure", UNUSED)
def test_uses_that_do_not_count(procedure: str) -> None:
    report = failures(procedure)
    assert "objects" in report and "procedures/a.py" in report


@pytest.mark.parametrize(
    ("procedure", "part"),
    [
        ("from objects import OakLg\nOakLg()", "line 1: objects.py has no OakLg (did you mean OakLog?)"),
        ("import objects\nobjects.crft(1)", "line 2: objects.py has no crft (did you mean craft?)"),
        ("import os\n" + GOOD, "line 1: module 'os' is not allowed"),
        ("def f():\n    import os.path\n" + GOOD, "line 2: module 'os' is not allowed"),
        ("from objects import *\ncraft(1)", "star import"),
        ("from . import b\n" + GOOD, "procedures cannot be imported"),
        ("from procedures.b import x\n" + GOOD, "procedures cannot be imported"),
        ("import b\n" + GOOD, "'b' is another procedure"),
        ("from objects import R\nprint(R)", "only constants of objects (R)"),
        ("x = 1", "imports nothing from objects"),
        (GOOD + "eval('1')", "line 3: eval is not allowed"),
        ("import objects\nobjects.craft(1)\nobjects.X = 1", "line 3: it changes objects"),
        ("from objects import OakLog\nOakLog().smelt()\nOakLog.x = 1", "line 3: it changes OakLog"),
        ("from objects import OakLog\nOakLog().smelt()\nOakLog.x += 1", "changes OakLog"),
        ("from objects import OakLog\nOakLog().smelt()\ndel OakLog.smelt", "changes OakLog"),
        ("from objects import OakLog\nOakLog().smelt()\nsetattr(OakLog, 'x', 1)", "changes OakLog"),
        ("from objects import OakLog\nOakLog()\ntype.__setattr__(OakLog, 'x', 1)", "changes OakLog"),
        ("from objects import OakLog, R\nOakLog()\nR['b'] = 2", "changes R"),
        ("import objects\nobjects.craft(1)\nvars(objects)['x'] = 1", "changes objects"),
        ("x = (", "line 1: '(' was never closed"),
        ("x\0", "null bytes"),
        (GOOD + "x = '\ud800'", "surrogates"),
        ("x = " + "-" * 150 + "1", "nested more than 100"),
        ("(" * 300, "too many nested parentheses"),
        ("x = " + "-" * 19_000 + "1", "nested too deeply"),
        (GOOD + "#" * 20_000, "characters of 20000 (make it shorter)"),
    ],
)
def test_refused(procedure: str, part: str) -> None:
    assert part in failures(procedure, b="from objects import craft\ncraft(2)\n")


def test_kinds() -> None:
    found = check("import os\n", {"procedures/a.py": "x = ("})
    assert [(verdict.path, verdict.kind) for verdict in found] == [
        ("objects.py", "static"),
        ("procedures/a.py", "syntax"),
    ]


def test_objects_that_do_not_parse_are_told_once() -> None:
    (verdict,) = check("x = (", {"procedures/a.py": GOOD})
    assert (verdict.path, verdict.kind) == ("objects.py", "syntax")


def test_limits_of_the_whole() -> None:
    limits = Limits(definitions=1, memory_chars=10, procedures=0)
    (verdict,) = check(OBJECTS, {"procedures/a.py": GOOD}, limits)
    assert "3 definitions of 1" in verdict.report
    assert "characters of 10" in verdict.report and "1 procedures of 0" in verdict.report


def test_objects_cannot_import_itself_or_procedures() -> None:
    (verdict,) = check("from objects import A\nimport procedures.a\n", {})
    assert "imports itself" in verdict.report and "procedures cannot be imported" in verdict.report


def test_a_path_outside_procedures_is_refused() -> None:
    assert [verdict.path for verdict in check(OBJECTS, {"a.py": GOOD, "procedures/../x.py": GOOD})] == [
        "a.py",
        "procedures/../x.py",
    ]


def test_a_long_chain_of_functions_does_not_raise() -> None:
    chain = "".join(f"def f{i}(): f{i + 1}()\n" for i in range(600))
    assert failures("from objects import craft\n" + chain + "def f600(): craft(1)\nf0()\n") == ""


def test_without_objects_procedures_stand_alone() -> None:
    alone = {"procedures/a.py": "assert 1 + 1 == 2\n"}
    assert check("", alone, needs_objects=False) == () and check("", alone) != ()
    assert check("", {"procedures/a.py": GOOD}, needs_objects=False) != ()


def test_lines_in_objects_are_those_of_the_file() -> None:
    (verdict,) = check(OBJECTS + "# above\ndef f(input):\n    input\n    return eval('1')\n", {})
    assert verdict.report.startswith("objects.py, line 10: eval is not allowed")
    assert "input" not in verdict.report


def test_own_functions_may_have_the_names_of_builtins() -> None:
    assert failures("from objects import open\nopen('door')\n", "def open(what): return what\n") == ""


@given(modules(), modules())
def test_modules_never_raise(objects: str, procedure: str) -> None:
    check(objects, {"procedures/a.py": procedure})


@given(st.text(), st.text())
def test_arbitrary_text_never_raises(objects: str, procedure: str) -> None:
    check(objects, {"procedures/a.py": procedure})
