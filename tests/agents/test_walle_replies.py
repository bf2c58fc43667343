"""What WALL-E's learning requests are answered with is read, or unreadable, whatever it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parsing import UnreadableReply
from agents.walle.replies import (
    WORDS,
    Function,
    Functions,
    Mined,
    MinedRule,
    Prediction,
    Predictions,
    reader,
    unfenced,
    words,
)
from tests.agents.fakes import reply

SHAPES = (Predictions, Mined, Functions)
NAMES = ("predictions", "rules", "functions", "number", "success", "code", "rule", "check", "conflicting")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@given(anything, st.sampled_from(SHAPES))
def test_any_json_is_read_or_unreadable(value: object, shape: type[Mined]) -> None:
    try:
        found = reader(shape, lambda said: True, "")(reply(json.dumps(value)))
    except UnreadableReply as problem:
        assert str(problem)
    else:
        assert found.model_dump_json().encode()


def test_forms_that_models_write() -> None:
    said = reader(Predictions, lambda said: True, "")(
        reply('Here:\n```json\n{"predictions": [{"number": "2", "success": "false"},]}\n```')
    )
    assert said.predictions == (Prediction(number=2, success=False),)
    mined = reader(Mined, lambda said: True, "")(
        reply('{"conflicting": null, "rules": [{"rule": " a ", "check": null, "improves": null}]}')
    )
    assert mined == Mined(rules=(MinedRule(rule="a"),))
    coded = reader(Functions, lambda said: True, "")(
        reply('{"functions": [{"number": 1, "code": "\\ud800"}]}')
    )
    assert coded.functions == (Function(number=1, code="?"),)


def test_what_does_not_fit_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="no number"):
        reader(Predictions, lambda said: bool(said.predictions), "no number")(reply('{"predictions": []}'))
    with pytest.raises(UnreadableReply, match=r"field `rules.0.rule`"):
        reader(Mined, lambda said: True, "")(reply('{"rules": [{"rule": ""}]}'))


@given(st.text())
def test_words_are_one_bounded_line(text: str) -> None:
    assert len(words(text)) <= WORDS and "\n" not in words(text) and words(words(text)) == words(text)


@pytest.mark.parametrize("code", ["x = 1", "def f():\n    return '```'", ""])
def test_code_comes_out_of_its_fence(code: str) -> None:
    assert unfenced(f"```python\n{code}\n```").strip() == code == unfenced(code)
