"""Experts and extractors in the real sandbox: what they say is data, and who spoils it is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.poeworld import judging
from agents.poeworld.cases import Case
from agents.poeworld.judging import Judged, extractor_problem, judged, told
from agents.poeworld.weighing import Variable, Vote
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Files, Verdict
from tests.agents.fakes import FakeBench

DOORS = '''import re

def extract(observation):
    """Doors and where they are, from lines such as `door 1 is open in hall`."""
    found = re.findall(r"(door \\d+) is (\\w+) in (\\w+)", observation)
    return {name: {"type": "door", "state": state, "location": place} for name, state, place in found}
'''
SHUT = "door 1 is closed in hall\ndoor 2 is closed in hall"
OPEN = "door 1 is open in hall\ndoor 2 is closed in hall"
OPENED = Case("Get out", (SHUT,), "open door 1", OPEN, True, False)
REFUSED = Case("Get out", ("Nothing happens.", SHUT), "open door 2", "Nothing happens.", False, False)
THOUGHT_OF = Case("Get out", (SHUT,), "open door 1")

OPENS = """def expert(objs, action):
    if action.startswith("open ") and action[5:] in objs:
        return [(action[5:], "state", {True})]
"""
FAILS = """def expert(objs, action):
    if objs["goal"]["state"] == "Get out" and objs["door 1"]["state"] == "closed":
        either = {True, False}
        return [("", "success", [False]), ("door 9", "state", {True}), ("door 1", "reward", either)]
"""
SEES_LINES = """def expert(objs, action):
    return [("", "success", {objs["door 1 is open in hall"]["type"] == "door"})]
"""
RAISES = "def expert(objs, action):\n    return [(1 / 0, 'success', {True})]\n"
CHANGES = "def expert(objs, action):\n    objs['door 1']['state'] = 'open'\n"
LOOPS = "def expert(objs, action):\n    while True:\n        pass\n"
LEAVES = "def expert(objs, action):\n    raise SystemExit\n"
FORGES = """def expert(objs, action):
    import json
    json.dumps = lambda value: '["s:99"]'
    return None
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=1.0, cpu_seconds=1)) as sandbox:
        yield sandbox


@pytest.fixture
def bench(sandbox: Sandbox) -> FakeBench:
    return FakeBench(verify=sandbox.verify)


async def test_experts_speak_of_success_reward_and_objects_and_changes_are_seen(bench: FakeBench) -> None:
    found = await judged(bench, DOORS, {"open_1": OPENS, "open_2": FAILS}, [OPENED, REFUSED])
    fails = Vote("open_2", False)
    assert found == Judged(
        (
            (
                Variable("success", True, (fails,)),
                Variable("reward", False),
                Variable("state", True, (Vote("open_1", True),)),
            ),
            (
                Variable("success", False, (fails,)),
                Variable("reward", False),
                Variable("state", False, (Vote("open_1", True),)),
            ),
        )
    ), "an observation without objects leaves them as they were"


async def test_without_experts_what_changed_is_still_seen(bench: FakeBench) -> None:
    (variables,) = (await judged(bench, DOORS, {}, [OPENED])).transitions
    assert [one.attribute for one in variables if one.came] == ["success", "state"]


async def test_an_action_that_is_only_thought_of_changes_nothing(bench: FakeBench) -> None:
    (variables,) = (await judged(bench, DOORS, {"open_1": OPENS}, [THOUGHT_OF])).transitions
    assert not any(one.came for one in variables)


async def test_without_an_extractor_every_line_is_an_object(bench: FakeBench) -> None:
    case = OPENED._replace(before=(OPEN,), after=SHUT)
    (variables,) = (await judged(bench, "", {"a_1": SEES_LINES}, [case])).transitions
    assert variables == (Variable("success", True, (Vote("a_1", True),)), Variable("reward", False))


@pytest.mark.parametrize("bad", [RAISES, CHANGES, LOOPS, LEAVES, FORGES])
async def test_an_expert_that_is_no_good_is_found_and_the_others_are_heard(
    bench: FakeBench, bad: str
) -> None:
    experts = {"open_1": OPENS, "open_2": bad, "open_3": FAILS}
    found = await judged(bench, DOORS, experts, [OPENED])
    assert found.broken == {"open_2"}
    assert {vote.expert for one in found.transitions[0] for vote in one.votes} == {"open_1", "open_3"}


async def test_a_broken_extractor_breaks_no_turn(bench: FakeBench) -> None:
    found = await judged(bench, "raise SystemExit\n", {"a_1": OPENS, "b_2": OPENS}, [THOUGHT_OF, THOUGHT_OF])
    assert [[one.votes for one in variables] for variables in found.transitions] == [[(), ()]] * 2


async def test_no_expert_is_blamed_for_an_extractor_that_fails_on_some_text(bench: FakeBench) -> None:
    """Nor are halves of the experts asked: every one of those executions would last until the limit."""
    loops = (
        DOORS
        + "\n_find = extract\ndef extract(observation):\n    while 'zap' in observation:\n        pass\n"
    )
    loops += "    return _find(observation)\n"
    experts = {f"open_{number:05}": SEES_LINES.replace("closed", "open") for number in range(20)}
    zapped = THOUGHT_OF._replace(before=(f"zap\n{OPEN}",))
    found = await judged(bench, loops, experts, [zapped])
    assert not found.broken and len(found.transitions[0][0].votes) == len(experts)
    assert len(bench.verified) <= 3


async def test_many_experts_and_long_texts_go_in_several_executions(bench: FakeBench) -> None:
    speaks = "def expert(objs, action):\n    return [(name, 'state', {True}) for name in objs]\n"
    experts = {f"open_{number:05}": speaks for number in range(judging.EXPERTS_AT_ONCE + 5)}
    long = [
        OPENED._replace(before=(SHUT + f"\nroom {number} " + "é" * 1_500,), after=OPEN)
        for number in range(20)
    ]
    found = await judged(bench, DOORS, experts, long)
    assert not found.broken and len(found.transitions) == 20
    for variables in found.transitions:
        assert [len(one.votes) for one in variables if one.name] == [len(experts)] * 3, (
            "two doors and the goal"
        )


@pytest.mark.parametrize("output", ["[1]", '["s:1", "s:1"]', '["s:5"]', '["q:1"]', "{}", '[["s"]]', "7"])
async def test_forged_rows_are_no_votes(output: str) -> None:
    def verify(objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return (Verdict("experts.py", True, "ok", output=f"@result {output}"),)

    found = await judged(FakeBench(verify=verify), "", {"a_1": OPENS}, [THOUGHT_OF])
    assert found.transitions == ((Variable("success", False), Variable("reward", False)),)
    assert found.broken == {"a_1"}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (DOORS, ""),
        ("def extract(observation):\n    return {}\n", "no objects in 2 of 2"),
        ("def extract(observation):\n    return [1]\n", "AttributeError"),
        ("def extract(observation):\n    return observation[99999]\n", "IndexError"),
        ("def extract(observation):\n    while True:\n        pass\n", "endless"),
        ("x = 1\n", "TypeError"),
        ("import os\n", "not available"),
    ],
)
async def test_an_extractor_is_tried_on_what_was_seen(bench: FakeBench, code: str, problem: str) -> None:
    found = await extractor_problem(bench, code, [SHUT, OPEN, SHUT])
    assert problem in found and bool(problem) is bool(found)


async def test_a_transition_is_told_in_lines(bench: FakeBench) -> None:
    lines = await told(bench, DOORS, OPENED)
    assert lines.objects[0] == "'door 1': {'type': 'door', 'state': 'closed', 'location': 'hall'}"
    assert list(lines.changes.values()) == ["state of 'door 1': 'closed' -> 'open'"]
    assert await told(bench, "raise SystemExit\n", OPENED) == judging.Told()
