"""Rules hold actions back, in the real sandbox; a bad rule holds nothing back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.acting import dialogue
from agents.protocol import Decision, View
from agents.registry import create
from agents.walle.harness import WORDS
from agents.walle.rules import Rule
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Exchange, Files, Observation, Turn, TurnKind, Verdict
from tests.agents.fakes import TASK, FakeBench
from tests.agents.walle_texts import STATE, made, memory_of, smelts_nothing

DIRT = "smelt: from [I1] to [I9] with quantity 1"
STONE = "smelt: from [I2] to [I9] with quantity 1"
NO_DIRT = made(1, smelts_nothing("dirt"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=2.0, cpu_seconds=1)) as sandbox:
        yield sandbox


def view(memory: Files, turns: Sequence[Turn] = (), exchanges: Sequence[Exchange] = (), **more: Any) -> View:
    first = Observation("Craft a stone", STATE)
    return View(
        TASK,
        "Rules.",
        30,
        first,
        (),
        len(exchanges),
        (),
        memory,
        {},
        turns=turns,
        exchanges=exchanges,
        **more,
    )


async def decided(sandbox: Sandbox, memory: Files, reply: str, **more: Any) -> Decision:
    bench = FakeBench(reply, verify=sandbox.verify)
    return await create("walle", {}).act(view(memory, **more), bench)


async def test_an_action_that_a_rule_speaks_against_is_held_back(sandbox: Sandbox) -> None:
    decision = await decided(sandbox, memory_of(NO_DIRT), f"I try.\n\nAction: {DIRT}")
    assert (decision.kind, decision.content, decision.thought) == (TurnKind.VETOED, DIRT, "I try.")
    assert "- dirt does not smelt. Keep it.\n" in decision.veto and "not sent" in decision.veto


async def test_any_other_action_is_sent(sandbox: Sandbox) -> None:
    decision = await decided(sandbox, memory_of(NO_DIRT), f"Action: {STONE}")
    assert (decision.kind, decision.content, decision.veto) == (TurnKind.ACTION, STONE, "")


async def test_rules_see_the_last_observation(sandbox: Sandbox) -> None:
    now = [Exchange("move: from [I1] to [I2] with quantity 1", STATE.replace("dirt", "sand"))]
    decision = await decided(sandbox, memory_of(NO_DIRT), f"Action: {DIRT}", exchanges=now)
    assert decision.kind is TurnKind.ACTION


@pytest.mark.parametrize(
    "memory",
    [{}, memory_of(made(1, smelts_nothing("*"), "move")), memory_of(pool=(NO_DIRT,))],
    ids=["no rules", "a rule of another verb", "a rule in the pool"],
)
async def test_nothing_is_executed_where_no_rule_speaks_of_the_verb(memory: Files) -> None:
    def verify(objects: str, files: Files) -> tuple[Verdict, ...]:
        raise AssertionError("something was executed")

    decision = await create("walle", {}).act(view(memory), FakeBench(f"Action: {DIRT}", verify=verify))
    assert decision.kind is TurnKind.ACTION


async def test_after_three_vetoes_the_action_is_sent(sandbox: Sandbox) -> None:
    held = [Turn(1, TurnKind.VETOED, "", DIRT, "", number) for number in range(3)]
    memory = memory_of(NO_DIRT)
    for count, kind in ((2, TurnKind.VETOED), (3, TurnKind.ACTION)):
        assert (await decided(sandbox, memory, f"Action: {DIRT}", turns=held[:count])).kind is kind
    earlier = [replace(turn, step=0) for turn in held]
    assert (await decided(sandbox, memory, f"Action: {DIRT}", turns=earlier)).kind is TurnKind.VETOED


async def test_a_reply_without_an_action_is_not_checked(sandbox: Sandbox) -> None:
    decision = await decided(sandbox, memory_of(NO_DIRT), "smelt")
    assert decision.kind is TurnKind.MALFORMED


async def test_rules_are_not_in_the_prompt() -> None:
    bench = FakeBench(f"Action: {STONE}")
    now = view(memory_of(made(1, smelts_nothing("dirt"), "move")))
    await create("walle", {}).act(now, bench)
    assert bench.asked[0][1] == dialogue(now, "")


BAD = {
    "raises": "def rule(state, action):\n    return 1 / 0\n",
    "endless": "def rule(state, action):\n    while True:\n        pass\n",
    "no rule": "x = 1\n",
    "says nothing": "def rule(state, action):\n    return None\n",
    "no bool": "def rule(state, action):\n    return 'x', 0, 'y'\n",
    "prints": "def rule(state, action):\n    print('x' * 99999)\n    return '', True, ''\n",
    "ends": "def rule(state, action):\n    raise SystemExit\n",
    "spoils": "def rule(state, action):\n    state['obs'] = action['raw'] = ''\n    return '', True, ''\n",
    "imports": "import os\n\n\ndef rule(state, action):\n    return '', False, ''\n",
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_rule_holds_nothing_back(sandbox: Sandbox, kind: str) -> None:
    for _ in range(2):
        decision = await decided(sandbox, memory_of(made(1, BAD[kind])), f"Action: {DIRT}")
        assert decision.kind is TurnKind.ACTION


@pytest.mark.parametrize("kind", ["raises", "no rule", "says nothing", "prints", "spoils", "imports"])
async def test_a_rule_that_raises_does_not_silence_the_others(sandbox: Sandbox, kind: str) -> None:
    memory = memory_of(made(1, BAD[kind]), made(2, smelts_nothing("dirt")))
    assert (await decided(sandbox, memory, f"Action: {DIRT}")).kind is TurnKind.VETOED


async def test_feedback_is_one_bounded_line_of_text(sandbox: Sandbox) -> None:
    code = "def rule(state, action):\n    return '\\n# x\\ud800' + 'é' * 9999, False, ['y'] * 9999\n"
    rules: list[Rule] = [made(number, code) for number in range(1, 20)]
    decision = await decided(sandbox, memory_of(*rules), f"Action: {DIRT}")
    lines = [line for line in decision.veto.splitlines() if line.startswith("- ")]
    assert len(lines) == 3 and decision.veto.encode() and len(decision.veto) < 3 * 2 * WORDS + 500
    assert "\n#" not in decision.veto


@pytest.mark.parametrize(
    "forged", ["7", "[1]", '[["other", "a", "b"]]', '[["smelt_00001", "a"]]', '[["smelt_00001", 1, 2]]']
)
async def test_a_forged_answer_is_no_veto(forged: str) -> None:
    said = Verdict("rules.py", True, "ok", output=f"\n@result {forged}\n")
    bench = FakeBench(f"Action: {DIRT}", verify=lambda objects, files: (said,))
    assert (await create("walle", {}).act(view(memory_of(NO_DIRT)), bench)).kind is TurnKind.ACTION
