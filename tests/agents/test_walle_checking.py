"""What the text of a rule may hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.walle.checking import CODE_CHARS, Unfit, checked, same

RULE = "def rule(state, action):\n    return '', True, ''\n"


@pytest.mark.parametrize(
    "code",
    [
        RULE,
        "import re\nfrom collections import Counter as Count\nWORDS: tuple = ('a', 'b')\n" + RULE,
        "import re as r, math\nITEM = r.compile('a', r.I)\nMANY = math.inf\n" + RULE,
        "def seen(text):\n    for _ in range(3):\n        while text:\n            text = text[1:]\n"
        "    return [c for c in text if c not in 'ab']\n\n\ndef rule(state, action):\n"
        "    try:\n        words = {w: len(w) for w in state['obs'].split()}\n"
        "    except (KeyError, ValueError) as error:\n        return str(error), True, ''\n"
        "    pick = lambda key: words[key]\n    return '', not any(map(pick, words)), f'{seen(state)!r}'\n",
    ],
)
def test_what_a_rule_needs_may_stand_in_it(code: str) -> None:
    assert checked(f"\n\n{code}\n\n") == code


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("", "no function rule"),
        ("def other(state, action):\n    return 1\n", "no function rule"),
        ("def rule(state):\n    return 1\n", "no function rule"),
        ("def rule(:\n", "line 1"),
        ("I cannot help with that.", "line 1"),
        ("import os\n" + RULE, "module os"),
        ("import re, os.path\n" + RULE, "module os.path"),
        ("from . import x\n" + RULE, "module ."),
        ("import re\nre.search = None\n" + RULE, "attribute search may not be changed"),
        ("import string\n" + RULE, "module string"),
        ("import re\nx = re.enum.sys\n" + RULE, "re.enum is not allowed"),
        ("import re as r\nx = r.copyreg\n" + RULE, "r.copyreg is not allowed"),
        ("import re\nx = [re]\n" + RULE, "module re may only be used as re.something"),
        ("from re import enum\n" + RULE, "re.enum is not allowed"),
        ("open('x')\n" + RULE, "name open"),
        ("eval('1')\n" + RULE, "name eval"),
        ("__import__('os')\n" + RULE, "name __import__"),
        ("x = ().__class__\n" + RULE, "attribute __class__"),
        ("getattr(str, 'x')\n" + RULE, "name getattr"),
        ("def __build_class__():\n    pass\n" + RULE, "name __build_class__"),
        ("class A:\n    pass\n" + RULE, "not at the top"),
        ("while True:\n    pass\n" + RULE, "not at the top"),
        ("def rule(state, action):\n    global x\n    return 1\n", "Global"),
        ("def rule(state, action):\n    with state:\n        return 1\n", "With"),
        ("def rule(state, action):\n    yield 1\n", "Yield"),
        ("async def rule(state, action):\n    return 1\n", "not at the top"),
        ("x = '\ud800'\n" + RULE, "surrogates"),
        (f"x = '{'a' * CODE_CHARS}'\n" + RULE, "characters"),
        (f"x = {'(' * 60}1{',)' * 60}\n" + RULE, "nested"),
        ("x = '\0'\n" + RULE, "null"),
    ],
)
def test_what_it_does_not_need_is_unfit(code: str, problem: str) -> None:
    with pytest.raises(Unfit, match=problem):
        checked(code)


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_is_a_rule_or_unfit(text: str) -> None:
    try:
        assert checked(text).endswith("\n")
    except Unfit as problem:
        assert str(problem)


def test_layout_and_comments_make_no_other_rule() -> None:
    assert same(RULE, "# why\ndef rule( state,action ):\n  return ('', True, '')\n")
    assert not same(RULE, RULE.replace("True", "False"))
