"""Learning plans as chat models really write them."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.ocm.plan import LearningPlan, read_plan
from agents.parsing import CUT_OFF, UnreadableReply, parse_json

READABLE = {
    "bare": ('{"a": 1}', {"a": 1}),
    "fence": ('```json\n{"a": 1}\n```', {"a": 1}),
    "prose around": ('Here it is:\n{"a": 1}\nI hope {this} helps.', {"a": 1}),
    "prose with braces before": ('From {I2} I learned:\n\n{"a": 1}', {"a": 1}),
    "prose on the same line": ('The plan: {"a": 1}', {"a": 1}),
    "trailing commas": ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
    "inner objects well-formed, outer not": ('{"a": [{"b": 1},], "c": 2,}', {"a": [{"b": 1}], "c": 2}),
    "braces in strings": ('{"a": "x = {y: {z}}", "b": "}"}', {"a": "x = {y: {z}}", "b": "}"}),
    "line breaks in strings": ('{"a": "x\ny"}', {"a": "x\ny"}),
    "comments": ('{"a": 1, // why\n"b": 2}', {"a": 1, "b": 2}),
    "python style": ("{'a': True, 'b': None}", {"a": True, "b": None}),
    "thinking before": ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
    "list around": ('[{"a": 1}]', {"a": 1}),
    "two objects": ('{"a": 1}\n{"a": 2}', {"a": 1}),
    "Windows line ends": ('{\r\n"a": 1\r\n}', {"a": 1}),
}

UNREADABLE = {
    "empty": ("", "no JSON object"),
    "prose": ("I learned nothing new.", "no JSON object"),
    "a list of texts": ('["a"]', "no JSON object"),
    "no fields": ("{}", "no readable JSON"),
    "braces only": ("{{{", "no readable JSON"),
    "only thinking": ('<think>{"a": 1}', "no JSON object"),
    "deep": ('{"a":' * 60 + "1" + "}" * 60, "nested"),
}


@pytest.mark.parametrize(("reply", "value"), READABLE.values(), ids=READABLE)
def test_readable(reply: str, value: dict[str, object]) -> None:
    assert parse_json(reply) == value


@pytest.mark.parametrize(("reply", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(reply: str, why: str) -> None:
    with pytest.raises(UnreadableReply, match=why):
        parse_json(reply)


def test_a_cut_off_reply_is_not_mended() -> None:
    with pytest.raises(UnreadableReply, match="cut off"):
        parse_json('{"a": 1}', CUT_OFF)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=5), VALUES, min_size=1, max_size=4))
def test_json_is_read_as_it_is(value: dict[str, object]) -> None:
    if "<think" not in str(value).lower():
        assert parse_json(f"Here:\n```json\n{json.dumps(value, indent=1)}\n```\nDone.") == value


@given(st.text(max_size=60) | st.lists(st.sampled_from("{}[]\":,\\ \n'a1/*"), max_size=40).map("".join))
def test_any_text_is_read_or_unreadable(reply: str) -> None:
    try:
        read_plan(parse_json(reply))
    except UnreadableReply as problem:
        assert str(problem)


HOSTILE = ["{" * 100_000, '{"a":' * 20_000, '{"' + "a" * 100_000, "{\n" * 50_000, '{"a" ' * 20_000]


@pytest.mark.parametrize("reply", [*HOSTILE, "{" + '"a" ' * 12_000, "{" + "//" * 20_000])
def test_hostile_replies_are_read_quickly(reply: str) -> None:
    started = time.process_time()
    with pytest.raises(UnreadableReply):
        read_plan(parse_json(reply))
    assert time.process_time() - started < 1.0


# --- plans -------------------------------------------------------------------------------------

ITEM = {"action": "create", "name": "OakLog", "change": "smelts to charcoal", "why": "step 3"}


def test_a_full_plan() -> None:
    plan = read_plan({"summary": "s", "objects": [ITEM], "procedures": [], "inspect": ["A"]})
    assert plan.objects[0].name == "OakLog"
    assert plan.inspect == ("A",)
    assert not plan.empty


def test_a_plan_survives_its_own_text() -> None:
    plan = read_plan({"objects": [ITEM], "procedures": [ITEM], "inspect": ["A", "B.c"], "summary": "ü"})
    assert read_plan(parse_json(plan.to_json())) == plan


@pytest.mark.parametrize("word", ["create", "Create", " ADD ", "new"])
def test_words_for_create(word: str) -> None:
    assert read_plan({"objects": [{**ITEM, "action": word}]}).objects[0].action == "create"


@pytest.mark.parametrize(("word", "action"), [("update", "modify"), ("Edit", "modify"), ("remove", "delete")])
def test_other_words(word: str, action: str) -> None:
    assert read_plan({"procedures": [{**ITEM, "action": word}]}).procedures[0].action == action


def test_one_item_for_a_list_and_null_for_an_empty_one() -> None:
    plan = read_plan({"objects": ITEM, "procedures": None, "inspect": "A, B.c", "summary": None})
    assert [item.name for item in plan.objects] == ["OakLog"]
    assert plan.inspect == ("A", "B.c")
    assert plan.procedures == ()


@pytest.mark.parametrize("key", ["plan", "learning_plan"])
def test_a_plan_in_an_envelope(key: str) -> None:
    assert not read_plan({key: {"objects": [ITEM]}}).empty


def test_nothing_to_learn() -> None:
    assert read_plan({"summary": "nothing new", "objects": [], "procedures": []}).empty


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"objects": ["OakLog"]}, "objects.0"),
        ({"objects": [{"action": "create"}]}, "objects.0.name"),
        ({"procedures": [{**ITEM, "action": "burn"}]}, "procedures.0.action"),
        ({"objects": [{**ITEM, "name": " "}]}, "objects.0.name"),
        ({"thoughts": "none of the fields"}, "summary"),
    ],
)
def test_a_wrong_plan_names_the_field(value: dict[str, object], field: str) -> None:
    with pytest.raises(UnreadableReply, match=field):
        read_plan(value)


def test_an_ablation_leaves_a_part_out() -> None:
    plan = LearningPlan.model_validate({"objects": [ITEM], "procedures": [ITEM]})
    assert plan.without(objects=True).objects == ()
    assert plan.without(objects=True).procedures == plan.procedures
    assert plan.without(objects=True, procedures=True).empty
