"""Acting replies as chat models really write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.acting import said
from agents.parsing import CUT_OFF, clean_action, parse_turn, strip_thinking
from ocm.types import TurnKind

MOVE = "move: from [I2] to [A1] with quantity 3"

ACTIONS = {
    "plain": ("I need planks.\nAction: look around", "look around", "I need planks."),
    "no thought": ("Action: look around", "look around", ""),
    "thought label": ("Thought: I need planks.\nAction: look", "look", "I need planks."),
    "numbered labels": ("Thought 1: I need planks.\nAction 1: look", "look", "I need planks."),
    "bold label": ("**Thought:** hm\n\n**Action:** look", "look", "hm"),
    "bold label, colon outside": ("**Action**: look", "look", ""),
    "bold whole line": ("**Action: look**", "look", ""),
    "underscores": ("__Action:__ look", "look", ""),
    "upper case": ("ACTION: look", "look", ""),
    "lower case": ("action: look", "look", ""),
    "blank before the colon": ("Action : look", "look", ""),
    "full-width colon": ("Action：look", "look", ""),
    "quoted line": ("> Action: look", "look", ""),
    "bullet": ("- Action: look", "look", ""),
    "heading with colon": ("### Action: look", "look", ""),
    "heading, then the line": ("### Thought\nhm\n\n### Action\nlook", "look", "### Thought\nhm"),
    "heading, then the labelled line": ("## Action\nAction: look", "look", "## Action"),
    "heading, then a fence": ("### Action\n```\nlook\n```", "look", ""),
    "label, then a fence": ("hm\nAction:\n```\nlook around\n```", "look around", "hm"),
    "label, then a fence with language": ("Action:\n```plaintext\nlook\n```", "look", ""),
    "fence opened on the label's line": ("Action: ```text\nlook\n```", "look", ""),
    "fence on one line": ("Action: ```look```", "look", ""),
    "all in a fence": ("```\nThought: hm\nAction: look\n```", "look", "hm"),
    "back-ticks": ("Action: `look around`", "look around", ""),
    "back-ticks and period": ("Action: `look around`.", "look around", ""),
    "double quotes": ('Action: "look around"', "look around", ""),
    "single quotes and period": ("Action: 'look around.'", "look around", ""),
    "curly quotes": ("Action: “look around”", "look around", ""),
    "the prompt's angle brackets": ("Action: <look around>", "look around", ""),
    "two quoted words": ('Action: say "a" and "b"', 'say "a" and "b"', ""),
    "quoted at both ends": ('Action: "a" and "b"', '"a" and "b"', ""),
    "trailing period": ("Action: impossible: no recipe.", "impossible: no recipe", ""),
    "ellipsis stays": ("Action: wait...", "wait...", ""),
    "decimal": ("Action: set 1.5", "set 1.5", ""),
    "plancraft": (f"Action: {MOVE}", MOVE, ""),
    "plancraft, bold": (f"**Action:** **{MOVE}**", MOVE, ""),
    "plancraft, in a fence": (f"Action:\n```\n{MOVE}\n```", MOVE, ""),
    "alfworld": ("Action: move soapbar 1 to cabinet 2.", "move soapbar 1 to cabinet 2", ""),
    "menu choice": ("Action: 0", "0", ""),
    "label twice": ("Action: Action: look", "look", ""),
    "thought with the word in mid-line": (
        "The best action: craft planks. My next action is clear.\nAction: look",
        "look",
        "The best action: craft planks. My next action is clear.",
    ),
    "action input is no action": ("Action Input: x\nAction: look", "look", "Action Input: x"),
    "several rounds": (
        "Thought: a\nAction: look\nObservation: You see a box.\nThought: b\nAction: open box",
        "look",
        "a",
    ),
    "imagined observation": ("Action: look\n\nObservation (after action 3 of 30):\nDone!", "look", ""),
    "trailing prose": ("Action: look\n\nThis shows me the room.", "look", ""),
    "Windows line ends": ("Thought: hm\r\nAction: look\r\n", "look", "hm"),
    "thinking": ("<think>Action: wrong</think>\nAction: look", "look", ""),
    "thinking, upper case": ("<THINK>\nx\n</THINK>Action: look", "look", ""),
    "two thoughts": ("<think>a</think>b<think>c</think>\nAction: look", "look", "b"),
    "thinking without its beginning": ("Action: wrong\n</think>\n\nAction: look", "look", ""),
    "json": ('{"thought": "hm", "action": "look"}', "look", "hm"),
    "json, capitals": ('{"Thought": "hm", "Action": "look."}', "look", "hm"),
    "json in a fence": ('```json\n{\n  "thought": "hm",\n  "action": "look"\n}\n```', "look", "hm"),
    "json with trailing comma": ('{"thought": "hm", "action": "look",}', "look", "hm"),
    "json with prose": ('I take {I2}.\n{"action": "look"}\nGood luck.', "look", ""),
    "json with braces in strings": ('{"thought": "{a} }", "action": "use {b}"}', "use {b}", "{a} }"),
    "json, tool call": ('{"name": "act", "arguments": {"action": "look"}}', "look", ""),
    "json behind the label": ('Action: {"action": "look"}', "look", ""),
    "json in a fence behind the label": ('Action:\n```json\n{"action": "look"}\n```', "look", ""),
}

INSPECTS = {
    "plain": ("Inspect[OakLog]", ("OakLog",)),
    "several": ("hm\nInspect[A, B.c]", ("A", "B.c")),
    "behind the label": ("Action: Inspect[A, B]", ("A", "B")),
    "behind a numbered label": ("**Action 2:** Inspect[A]", ("A",)),
    "on the line after the label": ("Action:\nInspect[A]", ("A",)),
    "behind the label with a remark": ("Action: Inspect[A] to see it", ("A",)),
    "round brackets": ("inspect(Foo)", ("Foo",)),
    "call inside": ("Inspect(Foo.bar(), baz)", ("Foo.bar()", "baz")),
    "bold": ("**Inspect[A]**", ("A",)),
    "back-ticks": ("`Inspect[A]`.", ("A",)),
    "quoted names": ("Inspect['A', \"B\", `C`]", ("A", "B", "C")),
    "blank and colon": ("Inspect: [A]", ("A",)),
    "path": ("Inspect[procedures/craft_planks.py]", ("procedures/craft_planks.py",)),
    "no closing bracket": ("Inspect[A, B", ("A", "B")),
    "spare commas": ("Inspect[, A,, ]", ("A",)),
    "first wins": ("Inspect[A]\nAction: look", ("A",)),
    "json": ('{"thought": "x", "action": "Inspect[A]"}', ("A",)),
}

MALFORMED = {
    "empty": ("", "stop", "the reply is empty"),
    "blank": (" \n\t", "stop", "the reply is empty"),
    "only thinking": ("<think>Action: look</think>", "stop", "only thinking"),
    "unclosed thinking": ("<think>I could.\nAction: look", "stop", "only thinking"),
    "cut off in thinking": ("<think>I could", CUT_OFF, "cut off by the token limit"),
    "cut off before the action": ("I should first", CUT_OFF, "cut off by the token limit"),
    "cut off in the action": ("hm\nAction: move: from [I", CUT_OFF, "cut off inside the action"),
    "cut off in the request": ("hm\nInspect[OakL", CUT_OFF, "cut off inside the action"),
    "filtered": ("", "content_filter", "content filter"),
    "no action": ("I would look around.", "stop", "no line begins with `Action:`"),
    "refusal": ("I'm sorry, I can't help with that.", "stop", "no line begins"),
    "empty action": ("Action:", "stop", "the action is empty"),
    "empty action, then a thought": ("Action:\nThought: hm", "stop", "the action is empty"),
    "empty action, then an observation": ("Action:\n\nObservation: ok", "stop", "the action is empty"),
    "only markup": ("Action: ** `` **", "stop", "the action is empty"),
    "inspect in prose": ("I could use Inspect[A] here.", "stop", "no line begins"),
    "inspect begins prose": ("Inspect[A] would help me here.", "stop", "no line begins"),
    "inspect as a verb": ("Inspect (the drawer) and then go", "stop", "no line begins"),
    "inspect of nothing": ("Inspect[]", "stop", "names nothing"),
    "inspect of too much": (f"Inspect[{', '.join('abcdefghijklmnopqrstuvw')}]", "stop", "at most 20"),
    "json without action": ('{"thought": "hm"}', "stop", "no line begins"),
    "json with an object as action": ('{"action": {"name": "look"}}', "stop", "no line begins"),
    "json with an empty action": ('{"action": " "}', "stop", "no line begins"),
}


@pytest.mark.parametrize(("reply", "action", "thought"), ACTIONS.values(), ids=ACTIONS)
def test_actions(reply: str, action: str, thought: str) -> None:
    turn = parse_turn(reply)
    assert (turn.kind, turn.content, turn.thought) == (TurnKind.ACTION, action, thought)


@pytest.mark.parametrize(("reply", "names"), INSPECTS.values(), ids=INSPECTS)
def test_inspects(reply: str, names: tuple[str, ...]) -> None:
    turn = parse_turn(reply)
    assert (turn.kind, turn.names, turn.content) == (TurnKind.INSPECT, names, ", ".join(names))


@pytest.mark.parametrize(("reply", "finish", "why"), MALFORMED.values(), ids=MALFORMED)
def test_malformed(reply: str, finish: str, why: str) -> None:
    turn = parse_turn(reply, finish)
    assert turn.kind is TurnKind.MALFORMED
    assert why in turn.content


def test_an_action_before_the_cut_stands() -> None:
    assert parse_turn("Action: look\nObservation: You se", CUT_OFF).content == "look"
    assert parse_turn("Inspect[A]", CUT_OFF).kind is TurnKind.INSPECT


LABELS = [
    "Action:",
    "action",
    "Action 2 :",
    "Thought:",
    "Observation:",
    "Inspect[",
    "inspect(",
    "<think>",
    "</think>",
]
MARKS = [
    "]",
    ")",
    "\n",
    "\r\n",
    "```",
    "~~~",
    '"',
    "'",
    "`",
    "**",
    "*",
    ".",
    ",",
    "#",
    "-",
    ">",
    " ",
    "：",
    "…",
]
PIECES = st.sampled_from([*LABELS, *MARKS, "{", "}", '{"action": "', "look", "[A1]", "A.b"])
REPLIES = st.text(max_size=80) | st.lists(PIECES, max_size=12).map("".join)


@given(REPLIES, st.sampled_from(["stop", "length", "content_filter", ""]))
def test_any_text_gives_a_turn(reply: str, finish: str) -> None:
    turn = parse_turn(reply, finish)
    assert turn.kind is not TurnKind.ACTION or turn.content.strip()
    assert turn.kind is not TurnKind.INSPECT or turn.names
    assert turn.kind is not TurnKind.MALFORMED or turn.content


@given(REPLIES)
@settings(max_examples=300)
@example("Thought: Action: look\nAction: open")
@example("Action: [A1], ...\n")
def test_what_is_said_reads_as_the_same_turn(reply: str) -> None:
    turn = parse_turn(reply)
    if turn.kind is not TurnKind.MALFORMED and "{" not in reply:
        again = parse_turn(said(turn, reply))
        assert (again.kind, again.thought, again.content) == (turn.kind, turn.thought, turn.content)


@given(REPLIES, REPLIES)
def test_the_first_action_wins(before: str, after: str) -> None:
    first = parse_turn(f"{strip_thinking(before)}\nAction: look\n")
    if first.kind is not TurnKind.MALFORMED and "<" not in after and "</" not in before:
        assert parse_turn(f"{strip_thinking(before)}\nAction: look\n{after}") == first


@given(st.text(max_size=60))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean_action(clean_action(text)) == clean_action(text)


@given(st.from_regex(r"[a-z]{1,5}( [a-z\[\]0-9]{1,4}){0,5}", fullmatch=True))
def test_plain_actions_stay_as_they_are(action: str) -> None:
    assert parse_turn(f"hm\n\nAction: {action}").content == action


N = 100_000
HOSTILE = {
    "blanks": "action" + " " * N,
    "digits": "action" + "1" * N,
    "blanks and digits": "action " + " 1" * (N // 2),
    "stars": "*" * N + "action",
    "labels": "action:" * (N // 7),
    "label lines": "Action:\n" * (N // 8),
    "inspects": "inspect[" * (N // 8),
    "inspect of stars": "inspect[" + "*" * N + "x",
    "brackets": "inspect(" + "(" * N,
    "bracket pairs": "inspect(" + "()" * (N // 2) + "x",
    "quotes": "Action: " + "\"'" * (N // 2),
    "back-ticks and periods": "Action: " + "`." * (N // 2),
    "ticks": "`" * N + "x",
    "fences": "```\n" * (N // 4),
    "headings": "#" * N + " action x",
    "lines": "\n" * N,
    "lines and action": "x\n" * (N // 2) + "Action: look",
    "thinking": "<think>" * (N // 7),
    "ends of thinking": "</think>" * (N // 8),
    "braces": "{" * N,
    "nested json": '{"a":' * (N // 5),
    "json string": '{"' + "a" * N,
    "broken json": "{" + '"a" ' * (N // 4),
    "brace lines": "{\n" * (N // 2),
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE)
def test_hostile_replies_are_read_in_linear_time(reply: str) -> None:
    started = time.process_time()
    parse_turn(reply)
    assert time.process_time() - started < 0.5
