"""The Level-0 section keeps its budget and says what it left out."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.index import Level0, estimate_tokens, index, level0
from tests.knowledge_store.sources import SECRET, modules

OBJECTS = 'class OakLog:\n    "A log."\n    count: int = 1\n\ndef craft(grid):\n    "Craft it."\n'
PROCEDURES = {
    f"procedures/p{i}.py": f'"Make thing {i} from a log."\ndef plan(slots: dict) -> list[str]: ...\n'
    for i in range(4)
}
FILES = {"objects.py": OBJECTS, **PROCEDURES}


def test_the_format() -> None:
    text = level0({"objects.py": OBJECTS, "procedures/p0.py": PROCEDURES["procedures/p0.py"]}).text
    assert text == (
        "## Object knowledge (objects.py)\n"
        "class OakLog:  # A log.\n"
        "    count: int = 1\n"
        "def craft(grid):  # Craft it.\n"
        "## Procedures (procedures/)\n"
        "procedures/p0.py  # Make thing 0 from a log.\n"
        "    def plan(slots: dict) -> list[str]:"
    )


def test_an_empty_memory_says_nothing() -> None:
    assert level0({}) == Level0("", 0) == level0({"objects.py": "", "reflections.md": "x"})


def test_the_least_useful_procedures_are_named_only() -> None:
    whole = level0(FILES)
    worth = {"procedures/p0.py": 3.0, "procedures/p1.py": 1.0, "procedures/p2.py": 2.0}
    found = level0(FILES, whole.tokens - 20, worth)
    assert found.summarised[:2] == ("procedures/p3.py", "procedures/p1.py")
    assert "by name only" in found.text and "thing 0" in found.text and "thing 3" not in found.text
    assert found.tokens <= whole.tokens - 20


def test_then_classes_then_everything() -> None:
    files = {
        **FILES,
        "objects.py": OBJECTS + "class Big:\n" + "".join(f"    f{i}: int\n" for i in range(200)),
    }
    found = level0(files, 200)
    assert "Classes by name only" in found.text and "Big" in found.summarised and "def craft" in found.text
    tiny = level0(files, 30)
    assert "more" in tiny.text and tiny.tokens <= 30


@given(modules(), st.dictionaries(st.sampled_from(sorted(PROCEDURES)), modules()), st.integers(30, 300))
def test_the_budget_is_kept(objects: str, procedures: dict[str, str], budget: int) -> None:
    files = {"objects.py": objects, **procedures}
    found = level0(files, budget)
    assert found.tokens == estimate_tokens(found.text) <= budget
    assert SECRET not in found.text


@given(st.text(), st.text())
def test_arbitrary_text_never_raises(objects: str, procedure: str) -> None:
    level0({"objects.py": objects, "procedures/a.py": procedure})


@given(st.text())
def test_the_estimate(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(len(text) / 4)


def test_summaries() -> None:
    sources = {
        "procedures/a.py": '"""\n\nFirst line.\nSecond."""\n# comment\n',
        "procedures/b.py": "import re\n# The comment.\ndef f():\n    '''Not this.'''\n",
        "procedures/c.py": "def _hidden():\n    'No.'\ndef f():\n    '''The function's.'''\n",
        "procedures/d.py": "x = (",
        "procedures/e.py": "",
        "procedures/f.py": "x = '# not a comment'\n",
    }
    assert [entry.summary for entry in index(sources)] == [
        "First line.",
        "The comment.",
        "The function's.",
        "does not parse (line 1: '(' was never closed)",
        "",
        "",
    ]
