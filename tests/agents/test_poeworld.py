"""PoE-World acts by what its experts foresee and learns from what surprised it; nothing malformed is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agents.acting import malformed_observation
from agents.buffer import finished
from agents.poeworld import model
from agents.poeworld.agent import PoeWorldAgent, memory_text
from agents.poeworld.cases import cases_of, imagined
from agents.poeworld.settings import PoeWorldSettings
from agents.protocol import View
from agents.registry import create
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import (
    Exchange,
    Files,
    Message,
    Reply,
    Step,
    Trajectory,
    TurnKind,
    UpdateOutcome,
    Validity,
    Verdict,
)
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, step, trajectory

EXTRACT = '''```python
def extract(observation):
    """The whole text is one object."""
    return {"all": {"type": "text", "state": observation}}
```'''
DIG_FAILS = '''```python
def expert(objs, action):
    """Digging fails."""
    return [("all", "success", {False})] if action.startswith("dig") else None
```'''
ALL_FAILS = '''```python
def expert(objs, action):
    """Everything fails."""
    return [("all", "success", {False})]
```'''
BOTH = f"It was refused.\n\n{DIG_FAILS}\n\n{ALL_FAILS}"
REFUSED = Step("dig hole", "You cannot.", 0.0, False, False, Validity.REFUSED)
WALKED = step("walk on", text="You cannot.")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=1.0, cpu_seconds=1)) as sandbox:
        yield sandbox


def episode(*steps: Step) -> Trajectory:
    return replace(trajectory(*steps), first_observation="You cannot.")


DUG = episode(REFUSED, WALKED, WALKED, WALKED, REFUSED)


async def learned(
    sandbox: Sandbox, *replies: str | Reply, memory: Files | None = None
) -> tuple[Files, FakeBench]:
    bench = FakeBench(*replies, verify=sandbox.verify)
    update = await create("poeworld", {}).learn(DUG, memory or {}, bench)
    assert update.outcome is UpdateOutcome.COMMITTED and not bench.replies
    return apply(memory or {}, update.delta), bench


async def test_a_surprise_leads_to_experts_that_are_weighed_and_pruned(sandbox: Sandbox) -> None:
    memory, bench = await learned(sandbox, EXTRACT, BOTH)
    assert bench.purposes == ["extract", "experts"], "what is explained surprises no more"
    assert sorted(memory) == [
        "experts/dig_00001.py",
        "extractor.py",
        "transitions/00001.json",
        "weights.json",
    ]
    weights = json.loads(memory["weights.json"])
    assert weights["last"] == 2 and list(weights["weights"]) == ["dig_00001"]
    assert weights["weights"]["dig_00001"] > 1
    assert "dig hole" in bench.prompt(1) and "did not carry it out" in bench.prompt(1)
    assert "success: probability 0.90, and it did not come" in bench.prompt(1)


async def test_a_second_episode_asks_no_more_and_adds_one_file(sandbox: Sandbox) -> None:
    memory, _ = await learned(sandbox, EXTRACT, BOTH)
    again, bench = await learned(sandbox, memory=memory)
    assert bench.purposes == [] and set(again) - set(memory) == {"transitions/00002.json"}
    assert again["transitions/00001.json"] == memory["transitions/00001.json"]


async def test_experts_that_are_known_or_explain_nothing_are_not_taken(sandbox: Sandbox) -> None:
    succeeds = DIG_FAILS.replace("{False}", "{True}")
    reply_ = "\n\n".join([DIG_FAILS, DIG_FAILS.replace("return [", "return  ["), succeeds])
    bench = FakeBench(EXTRACT, reply_, verify=sandbox.verify)
    update = await create("poeworld", {}).learn(DUG, {}, bench)
    kinds = [verdict.kind for verdict in update.rounds[0].verdicts]
    assert kinds == ["ok", "ok", "useless", "useless"]
    assert sum(change.path.startswith("experts/") for change in update.delta) == 1


async def test_an_extractor_that_fails_on_what_was_seen_is_written_anew(sandbox: Sandbox) -> None:
    memory, _ = await learned(sandbox, EXTRACT, BOTH)
    broken = {**memory, "extractor.py": "def extract(observation):\n    return observation[9999]\n"}
    mended, bench = await learned(sandbox, EXTRACT, memory=broken)
    assert bench.purposes == ["extract"] and "IndexError" in bench.prompt(0)
    assert mended["extractor.py"] == memory["extractor.py"]


LOOPS = "```python\ndef expert(objs, action):\n    while True:\n        pass\n```"
HOSTILE = "```python\nimport os\n\ndef expert(objs, action):\n    os.system('true')\n```"
NO_EXPERT = "```python\ndef other(objs, action):\n    return None\n```"
SURROGATE = DIG_FAILS.replace("Digging", "\ud800")
CUT_OFF = reply(BOTH, "length")
MALFORMED: dict[str, str | Reply] = {
    "empty": "",
    "prose": "I am sorry, nothing comes to my mind.",
    "cut off": CUT_OFF,
    "wrong JSON": '{"experts": [1, null]}',
    "does not parse": "```python\ndef expert(objs:\n```",
    "no function of the name": NO_EXPERT,
    "hostile": HOSTILE,
    "loops": LOOPS,
    "half of a surrogate pair": SURROGATE,
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_experts_change_nothing_and_the_reason_is_recorded(
    sandbox: Sandbox, name: str
) -> None:
    memory, _ = await learned(sandbox, EXTRACT, BOTH)
    surprising = replace(DUG, steps=tuple(replace(one, action="fly") for one in DUG.steps))
    bench = FakeBench(*[MALFORMED[name]] * 20, verify=sandbox.verify)
    update = await create("poeworld", {}).learn(surprising, memory, bench)
    assert update.outcome is UpdateOutcome.UNCHANGED and update.delta == ()
    assert update.reason.startswith("experts/fly_00003.py: ")
    assert bench.purposes.count("experts") == 2, "two flights failed"


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_extractor_changes_nothing_where_nothing_else_was_learned(
    sandbox: Sandbox, name: str
) -> None:
    bench = FakeBench(*[MALFORMED[name]] * 2, verify=sandbox.verify)
    update = await create("poeworld", {}).learn(episode(WALKED), {}, bench)
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ())
    assert update.reason.startswith("extractor.py: ")


async def test_one_malformed_reply_spoils_no_other(sandbox: Sandbox) -> None:
    memory, bench = await learned(sandbox, "", "no", BOTH)
    assert bench.purposes == ["extract", "extract_correction", "experts"]
    assert "experts/dig_00001.py" in memory and "extractor.py" not in memory


async def test_an_episode_without_an_action_teaches_nothing() -> None:
    silent = Step("hm", malformed_observation(), 0.0, False, False, Validity.MALFORMED)
    update = await create("poeworld", {}).learn(episode(silent), {}, FakeBench())
    assert (update.delta, update.reason) == ((), "no action was sent")


# --- acting ------------------------------------------------------------------------------------


def view(memory: Files, *, correcting: bool = False) -> View:
    said = (Message("assistant", "Action: walk on"), Message("user", "You cannot."))
    return View(
        TASK,
        "Rules.",
        30,
        FIRST,
        said,
        1,
        (),
        memory,
        {},
        correcting,
        (),
        (Exchange("walk on", "You cannot."),),
    )


def proposed(*actions: object, thought: str = "Well.") -> str:
    return json.dumps({"thought": thought, "actions": actions})


async def acted(sandbox: Sandbox, memory: Files, *replies: str) -> tuple[str, FakeBench]:
    bench = FakeBench(*replies, verify=sandbox.verify)
    decision = await create("poeworld", {}).act(view(memory), bench)
    assert not bench.replies and decision.kind is TurnKind.ACTION
    assert decision.said.endswith(f"Action: {decision.content}")
    return decision.content, bench


@pytest.fixture(scope="module")
def knows(sandbox: Sandbox) -> Files:
    memory, _ = asyncio.run(learned(sandbox, EXTRACT, BOTH))
    return memory


async def test_the_proposal_that_promises_most_is_sent(sandbox: Sandbox, knows: Files) -> None:
    action, bench = await acted(sandbox, knows, proposed("dig here", "wait", "walk on"))
    assert action == "wait" and bench.purposes == ["propose"]
    assert knows["experts/dig_00001.py"] in bench.prompt(0, 0), "and the experts stand in the prompt"


async def test_of_equal_proposals_the_first_is_sent(sandbox: Sandbox, knows: Files) -> None:
    assert (await acted(sandbox, knows, proposed("walk on", "wait")))[0] == "walk on"
    assert (await acted(sandbox, knows, proposed("dig here", "dig there")))[0] == "dig here"


async def test_a_reward_is_worth_more_than_success(sandbox: Sandbox, knows: Files) -> None:
    pays = 'def expert(objs, action):\n    return [("all", "reward", {True})] if action == "sell" else None\n'
    weights = json.dumps({"last": 9, "weights": {"sell_00009": 1.0}})
    memory = {**knows, "experts/sell_00009.py": pays, "weights.json": weights}
    assert (await acted(sandbox, memory, proposed("walk on", "sell")))[0] == "sell"


async def test_one_proposal_needs_no_experts(knows: Files) -> None:
    def verify(objects: str, procedures: Files) -> tuple[Verdict, ...]:
        raise AssertionError("an unexpected execution")

    bench = FakeBench("I dig.\n\nAction: dig here", verify=verify)
    decision = await create("poeworld", {}).act(view(knows), bench)
    assert (decision.thought, decision.content) == ("I dig.", "dig here")


@pytest.mark.parametrize("reply_", ["", "Well.", proposed(), proposed(7, None, " "), '{"actions": "dig"}'])
async def test_without_readable_proposals_the_turn_is_the_usual_one(
    sandbox: Sandbox, knows: Files, reply_: str
) -> None:
    action, bench = await acted(sandbox, knows, reply_, "Action: wait")
    assert action == "wait" and bench.purposes == ["propose", "act"]


async def test_without_experts_or_when_corrected_the_turn_is_the_usual_one(knows: Files) -> None:
    for memory, correcting in (({}, False), (knows, True)):
        bench = FakeBench("Action: dig here")
        decision = await create("poeworld", {}).act(view(memory, correcting=correcting), bench)
        assert decision.content == "dig here" and bench.purposes == [
            "act_correction" if correcting else "act"
        ]


async def test_experts_that_cannot_be_executed_leave_the_order_as_it_is(
    sandbox: Sandbox, knows: Files
) -> None:
    loops = {**knows, "experts/dig_00001.py": "def expert(objs, action):\n    while True:\n        pass\n"}
    assert (await acted(sandbox, loops, proposed("dig here", "wait")))[0] == "dig here"


# --- memory ------------------------------------------------------------------------------------


def experts(count: int, chars: int = 0) -> Files:
    names = [f"dig_{number:05}" for number in range(1, count + 1)]
    weights = {name: number / count for number, name in enumerate(names)}
    files = {f"experts/{name}.py": f"# {name} {'x' * chars}\n" for name in names}
    return {**files, "weights.json": json.dumps({"last": count, "weights": weights})}


def test_the_experts_with_most_weight_are_shown_as_far_as_they_fit() -> None:
    text = memory_text(model.read(experts(150)), PoeWorldSettings())
    assert text.startswith("# ") and text.count("## dig_") == 20
    assert text.index("dig_00150") < text.index("dig_00131") and "dig_00130" not in text
    long = memory_text(model.read(experts(150, chars=3_900)), PoeWorldSettings())
    assert 1 < long.count("## dig_") < 20 and len(long) < 26_000


async def test_weights_are_fitted_to_at_most_so_many_transitions(sandbox: Sandbox) -> None:
    memory, _ = await learned(sandbox, EXTRACT, BOTH)
    old = replace(DUG, steps=DUG.steps * 20)
    agent = PoeWorldAgent(PoeWorldSettings(max_transitions=102))
    update = await agent.learn(old, memory, FakeBench(verify=sandbox.verify))
    after = apply(memory, update.delta)
    assert [path for path in after if path.startswith("transitions/")] == ["transitions/00002.json"]


def test_a_rise_of_the_reward_is_what_counts() -> None:
    steps = [Step("a", "x", reward, False, False, Validity.VALID) for reward in (0.0, 0.3, 0.3)]
    assert [case.reward for case in cases_of(finished(episode(*steps), 3, 99))] == [False, True, False]


def test_the_state_before_an_action_is_the_last_observations_also_while_acting() -> None:
    steps = [step(f"a{number}", text=f"o{number}") for number in range(5)]
    past = cases_of(finished(episode(*steps), 1, 99))
    so_far = [Exchange(one.action, one.observation) for one in steps[:4]]
    (now,) = imagined(replace(FIRST, text="You cannot."), so_far, ["a4"])
    assert now.before == past[4].before == ("o3", "o2", "o1")
    assert past[1].before == ("o0", "You cannot.")
