"""Learning rounds in the real sandbox: predict, mine, write, test, prune."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.acting import malformed_observation
from agents.registry import create
from agents.walle import rules
from agents.walle.transitions import Played, Taken
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Files, MemoryUpdate, Reply, Step, Trajectory, UpdateOutcome, Validity, Verdict
from tests.agents.fakes import FakeBench, reply
from tests.agents.walle_texts import (
    STATE,
    episode,
    functions,
    made,
    memory_of,
    mined,
    move,
    predictions,
    smelt,
    smelts_nothing,
)

REFUSED = Validity.REFUSED
FAILED = episode(move(), smelt("I1", REFUSED))
"""A move, and dirt that does not smelt."""
PREDICTED = predictions(True, True)
MINED = mined("Dirt does not smelt")
CODED = functions({1: smelts_nothing("dirt")})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=2.0, cpu_seconds=1)) as sandbox:
        yield sandbox


class Learner:
    """A memory that grows."""

    def __init__(self, sandbox: Sandbox, memory: Files | None = None, **settings: Any) -> None:
        self.memory: Files = memory or {}
        self.bench = FakeBench()
        self.executed: list[str] = []
        self._sandbox = sandbox
        self._settings = settings

    async def learn(self, played: Trajectory, *replies: str | Reply) -> MemoryUpdate:
        self.bench, self.executed = FakeBench(*replies, verify=self._verify), []
        update = await create("walle", self._settings).learn(played, self.memory, self.bench)
        assert not self.bench.replies, "all replies were asked for"
        self.memory = apply(self.memory, update.delta)
        return update

    def _verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        self.executed += procedures.values()
        return self._sandbox.verify(objects, procedures)

    @property
    def code_files(self) -> list[str]:
        return [path for path in self.memory if path.endswith(".py")]


def verdicts(update: MemoryUpdate) -> list[Verdict]:
    return [verdict for round_ in update.rounds for verdict in round_.verdicts]


def failed(played: Played, *steps: int) -> Played:
    """The episode with these steps as failures that the model did not foresee."""
    changed = [
        Taken(one.action, one.observation, False, True) if index in steps else one
        for index, one in enumerate(played.steps)
    ]
    return Played(played.number, played.goal, played.first, tuple(changed))


SMELTED = tuple(Taken(f"smelt: from [I{slot}] to [I9] with quantity 1", STATE, True) for slot in (1, 2))
PAST = Played(1, "Craft a stone", STATE, SMELTED)
"""Dirt, then cobblestone, smelted."""


# --- a round -----------------------------------------------------------------------------------


async def test_a_surprise_becomes_a_rule(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    update = await learner.learn(FAILED, PREDICTED, MINED, CODED)
    assert update.outcome is UpdateOutcome.COMMITTED
    assert learner.bench.purposes == ["predict", "mine", "code"]
    assert learner.bench.temperatures == [0.0, 0.3, 0.0]
    assert learner.bench.stages == ["reflect", "reflect", "update", "verify"]
    assert sorted(learner.memory) == ["rules.json", "rules/smelt_00001.py", "transitions/00001.json"]
    assert learner.memory["rules/smelt_00001.py"] == smelts_nothing("dirt")
    assert update.plan == "smelt_00001: Dirt does not smelt"
    assert verdicts(update) == [
        Verdict("rules/smelt_00001.py", True, "ok", output="foresees 1 of 1 failures")
    ]
    steps = json.loads(learner.memory["transitions/00001.json"])["steps"]
    assert [(one["success"], one["foreseen"]) for one in steps] == [(True, True), (False, True)]


async def test_requests_show_what_they_need_and_predictions_no_outcome(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    await learner.learn(FAILED, PREDICTED, MINED, CODED)
    predict, mine, code = (learner.bench.prompt(call) for call in range(3))
    assert "[2] before:\nCraft a stone\ninventory:\n - dirt" in predict
    assert "failed" not in predict and "action: smelt: from [I1]" in predict
    assert "[1] before:" in mine and "outcome: failed, but predicted: success\nafter:\n(as before)" in mine
    assert "move: from" in mine and "action: move" not in mine, "only as a recent action"
    assert "# What is known\nNothing yet." in mine
    assert "[1] verb `smelt`: Dirt does not smelt\n    check: look" in code


async def test_nothing_is_asked_where_nothing_failed(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    update = await learner.learn(episode(move(), smelt("I1")))
    assert update.outcome is UpdateOutcome.COMMITTED and sorted(learner.memory) == ["transitions/00001.json"]


async def test_what_was_foreseen_is_not_mined(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    await learner.learn(FAILED, predictions(True, False))
    assert learner.bench.purposes == ["predict"] and learner.code_files == []
    by_rule = Learner(sandbox, memory_of(made(1, smelts_nothing("dirt"))))
    await by_rule.learn(FAILED, PREDICTED)
    assert by_rule.bench.purposes == ["predict"] and by_rule.code_files == ["rules/smelt_00001.py"]


async def test_known_rules_are_told_and_a_better_one_takes_a_rules_place(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    await learner.learn(FAILED, PREDICTED, MINED, CODED)
    better = mined("Dirt and cobblestone do not smelt", improves="smelt_00001")
    both = functions({1: smelts_nothing("dirt", "cobblestone")})
    await learner.learn(episode(smelt("I2", REFUSED)), predictions(True), better, both)
    assert "- `smelt_00001`: Dirt does not smelt" in learner.bench.prompt(1)
    assert learner.code_files == ["rules/smelt_00002.py"]


@pytest.mark.parametrize("code", [smelts_nothing("*"), "def rule(:\n", smelts_nothing("dirt") + "\n# x\n"])
async def test_a_better_rule_that_is_none_takes_no_place(sandbox: Sandbox, code: str) -> None:
    good = made(1, smelts_nothing("dirt"))
    learner = Learner(sandbox, memory_of(good, episodes=(failed(PAST, 0),)))
    better = mined("Nothing smelts", improves="smelt_00001")
    played = episode(smelt("I2"), move(REFUSED), smelt("I2", REFUSED))
    moved = mined()
    await learner.learn(played, predictions(True, True, True), moved, better, functions({1: code}))
    assert learner.code_files == ["rules/smelt_00001.py"]


async def test_a_rule_in_the_pool_goes_at_a_word_and_one_in_use_only_when_it_is_wrong(
    sandbox: Sandbox,
) -> None:
    waiting = (made(1, smelts_nothing("x")), made(2, smelts_nothing("y")))
    used = made(3, smelts_nothing("cobblestone"))
    learner = Learner(sandbox, memory_of(used, pool=waiting, episodes=(failed(PAST, 1),)))
    doubts = ("smelt_00001", "smelt_0000", "smelt_00003")
    await learner.learn(FAILED, PREDICTED, mined(conflicting=doubts))
    assert learner.code_files == ["pool/smelt_00002.py", "rules/smelt_00003.py"]


async def test_verbs_with_most_surprises_are_mined(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, mined_verbs=1)
    played = episode(move(REFUSED), smelt("I1", REFUSED), smelt("I2", REFUSED))
    await learner.learn(played, predictions(True, True, True), mined())
    assert learner.bench.prompt(1).startswith("# Verb\nsmelt\n")


async def test_a_batch_holds_the_failures_first(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, batch=3)
    played = episode(*[move()] * 6, smelt("I1", REFUSED), smelt("I2", REFUSED))
    await learner.learn(played, predictions(False, False, False))
    asked = learner.bench.prompt(0)
    assert asked.count("] before:") == 3 and asked.count("action: smelt") == 2


async def test_rounds_may_be_further_apart(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, interval=2)
    await learner.learn(FAILED)
    await learner.learn(FAILED, predictions(*[True] * 4), MINED, CODED)
    assert learner.bench.prompt(1).count("but predicted") == 2
    await learner.learn(FAILED)
    assert learner.code_files == ["rules/smelt_00001.py"]


async def test_the_same_episode_teaches_the_same(sandbox: Sandbox) -> None:
    learners = [Learner(sandbox, batch=4) for _ in range(2)]
    played = episode(*[move()] * 9, *[smelt("I1", REFUSED)] * 3)
    for learner in learners:
        await learner.learn(played, predictions(*[True] * 4), MINED, CODED)
    assert learners[0].memory == learners[1].memory
    assert learners[0].bench.asked == learners[1].bench.asked


# --- rules that go -----------------------------------------------------------------------------


async def test_a_false_alarm_drops_an_active_rule_without_any_call(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, memory_of(made(1, smelts_nothing("dirt")), made(12, smelts_nothing("x"))))
    update = await learner.learn(episode(smelt("I1")))
    assert learner.bench.purposes == [] and "rules/smelt_00001.py" not in learner.memory
    (verdict,) = verdicts(update)
    assert (verdict.path, verdict.kind) == ("rules/smelt_00001.py", "false_alarm")
    assert "'smelt: from [I1] to [I9] with quantity 1'" in verdict.report
    assert list(json.loads(learner.memory["rules.json"])["rules"]) == ["smelt_00012"]


async def test_a_rule_in_the_pool_becomes_active_once_it_covers_something(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, memory_of(pool=(made(1, smelts_nothing("dirt")),)))
    await learner.learn(episode(move()))
    assert learner.code_files == ["pool/smelt_00001.py"]
    await learner.learn(FAILED, PREDICTED, mined())
    assert learner.code_files == ["rules/smelt_00001.py"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def rule(state, action):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("def rule(state, action):\n    while True:\n        pass\n", "endless loop"),
        ("def rule(state, action):\n    raise BaseException\n", "BaseException"),
        ("x = [0] * 10**12\n\n\ndef rule(state, action):\n    return '', True, ''\n", "MemoryError"),
    ],
)
async def test_a_rule_that_cannot_be_executed_goes_and_no_other(
    sandbox: Sandbox, code: str, why: str
) -> None:
    learner = Learner(sandbox, memory_of(made(1, code), made(2, smelts_nothing("dirt"))))
    update = await learner.learn(FAILED, PREDICTED)
    assert learner.code_files == ["rules/smelt_00002.py"]
    (verdict,) = verdicts(update)
    assert (verdict.path, verdict.kind) == ("rules/smelt_00001.py", "exception") and why in verdict.report


async def test_rules_are_tested_on_all_that_was_seen(sandbox: Sandbox) -> None:
    """Also where that takes more than one execution."""
    past = tuple(
        Played(number, "g", STATE, tuple(Taken(f"smelt {n}", "x" * 1_000, True) for n in range(80)))
        for number in range(2, 6)
    )
    learner = Learner(sandbox, memory_of(episodes=(PAST, *past)))
    update = await learner.learn(FAILED, PREDICTED, MINED, CODED)
    assert [verdict.kind for verdict in verdicts(update)] == ["false_alarm"]
    assert learner.code_files == []
    assert len(learner.executed) > 3 and max(map(len, learner.executed)) < 200_000


async def test_many_rules_take_more_than_one_execution(sandbox: Sandbox) -> None:
    active = tuple(made(number, smelts_nothing("dirt", f"i{number}" * 300)) for number in range(1, 49))
    learner = Learner(sandbox, memory_of(*active))
    await learner.learn(FAILED, PREDICTED)
    assert len(learner.code_files) == 31 and "rules/smelt_00001.py" in learner.code_files


# --- replies that are none ---------------------------------------------------------------------

UNREADABLE: dict[str, str | Reply] = {
    "empty": "",
    "prose": "I am sorry, I cannot help with that.",
    "cut off": reply('{"predictions": [', "length"),
    "wrong JSON": '{"predictions": 1, "rules": "x", "functions": [{"number": "x"}]}',
    "no number that was asked": json.dumps(
        {
            "predictions": [{"number": 9, "success": True}],
            "rules": 1,
            "functions": [{"number": 9, "code": ""}],
        }
    ),
    "hostile code": "```python\nimport os\nos.system('rm -rf /')\n```",
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("good", [(), (PREDICTED,), (PREDICTED, MINED)], ids=["predict", "mine", "code"])
async def test_an_unreadable_reply_leaves_the_memory_as_it_was(
    sandbox: Sandbox, good: tuple[str, ...], kind: str
) -> None:
    memory = memory_of(made(1, smelts_nothing("x")), episodes=(PAST,))
    learner = Learner(sandbox, memory)
    update = await learner.learn(FAILED, *good, UNREADABLE[kind], UNREADABLE[kind])
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ())
    assert update.reason.startswith("unreadable reply: ") and learner.memory == memory


async def test_one_correction_is_enough(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    await learner.learn(FAILED, "hm", PREDICTED, "hm", MINED, "hm", CODED)
    assert learner.bench.purposes[1::2] == ["predict_correction", "mine_correction", "code_correction"]
    assert learner.code_files == ["rules/smelt_00001.py"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os\nos.system('x')\n", "module os"),
        ("def rule(state, action):\n    return open('/etc/passwd').read(), True, ''\n", "name open"),
        ("", "no function rule"),
        ("I cannot do that.", "line 1"),
    ],
)
async def test_hostile_code_is_not_tried(sandbox: Sandbox, code: str, why: str) -> None:
    learner = Learner(sandbox)
    update = await learner.learn(FAILED, PREDICTED, MINED, functions({1: code}))
    assert learner.code_files == [] and learner.executed == []
    (verdict,) = verdicts(update)
    assert (verdict.path, verdict.kind) == ("rules/smelt_00001.py", "static") and why in verdict.report


async def test_code_in_a_fence_and_rules_with_odd_characters(sandbox: Sandbox) -> None:
    learner = Learner(sandbox)
    fenced = functions({1: f"```python\n{smelts_nothing('dirt')}```"})
    await learner.learn(FAILED, PREDICTED, mined("Dirt \ud800\n does  not smelt"), fenced)
    assert rules.read(learner.memory).active[0].rule == "Dirt ? does not smelt"


async def test_an_episode_without_any_action_teaches_nothing(sandbox: Sandbox) -> None:
    spoiled = Step("hm", malformed_observation(), 0.0, True, False, Validity.MALFORMED)
    update = await Learner(sandbox).learn(episode(spoiled))
    assert (update.outcome, update.reason) == (UpdateOutcome.UNCHANGED, "no action was sent")


async def test_the_buffer_is_bounded(sandbox: Sandbox) -> None:
    learner = Learner(sandbox, buffer_cap=5)
    for _ in range(4):
        await learner.learn(episode(move(), move(), smelt("I1", REFUSED)), predictions(*[False] * 2))
    kept = {
        path: [one["success"] for one in json.loads(text)["steps"] if one["success"] is not None]
        for path, text in learner.memory.items()
        if path.startswith("transitions/")
    }
    assert kept == {
        "transitions/00001.json": [False],
        "transitions/00002.json": [False],
        "transitions/00003.json": [False],
        "transitions/00004.json": [True, False],
    }
