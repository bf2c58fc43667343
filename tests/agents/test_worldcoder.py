"""WorldCoder with a real sandbox: programs are scored, searched for, kept, and choose among plans."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from agents import buffer
from agents.acting import malformed_observation
from agents.protocol import Decision, View
from agents.worldcoder.agent import WorldcoderAgent
from agents.worldcoder.sampling import Key, room
from agents.worldcoder.scoring import PATH, explanation, score
from agents.worldcoder.settings import WorldcoderSettings
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import (
    EndReason,
    Files,
    MemoryUpdate,
    Reply,
    Step,
    Trajectory,
    TurnKind,
    UpdateOutcome,
    Validity,
    Verdict,
)
from tests.agents.fakes import FIRST, TASK, FakeBench, reply

LAST = "write nothing after it: the environment answers."
GOOD = """
def predict(belief, action):
    key = any("key" in line for line in belief["lines"])
    if action == "open" and not key:
        return {"valid": False, "obs": belief["last_obs"]}
    seen = {"take": "you have the key", "open": "the door is open"}
    return {"valid": True, "obs": seen.get(action, "a hall")}


def goal_reward(task, belief, action, obs):
    return (1.0, True) if obs == "the door is open" else (0.0, False)
"""
HOPEFUL = 'def predict(belief, action):\n    return {"valid": True, "obs": None}\n'


def step(action: str, text: str, *, valid: bool = True, success: bool = False) -> Step:
    validity = Validity.VALID if valid else Validity.REFUSED
    return Step(action, text, float(success), success, success, validity)


def played(*steps: Step) -> Trajectory:
    end = EndReason.SUCCESS if steps[-1].success else EndReason.STEP_LIMIT
    return Trajectory(TASK, "Open the door", "a hall", steps, (), (), end)


WALK = tuple(step(f"walk {number}", "a hall") for number in range(9))
OPENED = played(
    step("open", "a hall", valid=False),
    *WALK,
    step("take", "you have the key"),
    step("open", "the door is open", success=True),
)


def code(text: str) -> str:
    return f"So it is.\n\n```python\n{text}```"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=3.0)) as sandbox:
        yield sandbox


async def learn(
    sandbox: Sandbox,
    *replies: str | Reply,
    memory: Files | None = None,
    trajectory: Trajectory = OPENED,
    **settings: Any,
) -> tuple[MemoryUpdate, FakeBench, dict[str, str]]:
    """The update, the bench, and the memory afterwards. Optimism is off unless asked for."""
    bench = FakeBench(*replies, verify=sandbox.verify)
    agent = WorldcoderAgent(WorldcoderSettings(**{"plan_calls": 0, **settings}))
    update = await agent.learn(trajectory, memory or {}, bench)
    return update, bench, apply(memory or {}, update.delta)


def reports(update: MemoryUpdate) -> list[str]:
    return [verdict.report for round_ in update.rounds for verdict in round_.verdicts]


# --- learning ----------------------------------------------------------------------------------


async def test_too_few_transitions_are_kept_without_a_call(sandbox: Sandbox) -> None:
    update, _, memory = await learn(sandbox, trajectory=played(*WALK))
    assert update.outcome is UpdateOutcome.COMMITTED and "9 transitions of 10" in update.reason
    assert list(memory) == ["transitions/00001.json"]


async def test_a_perfect_program_ends_the_search(sandbox: Sandbox) -> None:
    update, bench, memory = await learn(sandbox, code(GOOD), "never asked for")
    assert bench.purposes == ["init"] and bench.temperatures == [1.0] and update.reason == ""
    assert memory[PATH].strip() == GOOD.strip()
    assert reports(update) == ["init: explains 12 of 12, score 1.000"]
    assert json.loads(update.plan) == {"sample": 12, "before": None, "after": 1.0}
    assert bench.prompt(0).count("## Episode 1, action") == 7


async def test_a_refinement_is_shown_the_counter_example_with_what_was_predicted(sandbox: Sandbox) -> None:
    update, bench, memory = await learn(sandbox, code(GOOD), memory={PATH: HOPEFUL})
    assert bench.purposes == ["refine"] and memory[PATH].strip() == GOOD.strip()
    asked = bench.prompt(0)
    wrong = asked.partition("# Transitions that it does not explain")[2]
    assert wrong.count("## Episode") == 1 and "The program predicted:\nvalid: True" in wrong
    assert asked.count("## Episode") == 4
    assert json.loads(update.plan)["before"] == pytest.approx(10 / 12, abs=1e-3)


async def test_the_budget_bounds_the_calls_and_the_old_program_stays_unless_one_scores_higher(
    sandbox: Sandbox,
) -> None:
    shorter = HOPEFUL.replace("obs", "o").replace('"o"', '"obs"')
    update, bench, memory = await learn(
        sandbox, *[code(shorter)] * 5, memory={PATH: HOPEFUL}, calls_per_episode=5
    )
    assert len(bench.asked) == 5 and memory[PATH] == HOPEFUL
    assert update.reason == "no reply gave a better program" and len(update.rounds) == 5


async def test_of_equal_new_programs_the_shorter_one_counts(sandbox: Sandbox) -> None:
    longer = HOPEFUL.replace("    return", "    unused = 'and more of it'\n    return")
    for order in ((longer, HOPEFUL), (HOPEFUL, longer)):
        _, _, memory = await learn(sandbox, *map(code, order), calls_per_episode=2)
        assert memory[PATH] == HOPEFUL


async def test_what_is_explained_needs_no_call(sandbox: Sandbox) -> None:
    update, bench, memory = await learn(sandbox, memory={PATH: GOOD})
    assert bench.asked == [] and update.reason == "the program explains the episode"
    assert memory[PATH] == GOOD and "transitions/00001.json" in memory


async def test_the_same_replies_give_the_same_memory(sandbox: Sandbox) -> None:
    replies = [code(HOPEFUL), "no", code(HOPEFUL.replace("True", "False")), code(GOOD)]
    one, bench, memory = await learn(sandbox, *replies)
    other, again, same = await learn(sandbox, *replies)
    assert (one, bench.asked, memory) == (other, again.asked, same)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "I cannot say.",
        '{"program": "def predict"}',
        reply(code(GOOD), "length"),
        "```python\ndef predict(:\n```",
        code("def other(belief):\n    return None\n"),
        code("x = '\ud800'\n" + GOOD),
        code("import os\n" + GOOD),
        code("A = [0 for _ in iter(int, 1)]\n" + GOOD),
        code("A = print('@result \"111111111111\"')\nB = 1 / 0\n" + GOOD),
        code("def predict(belief, action):\n    raise ValueError('no')\n"),
        code("def predict(belief, action):\n    return 7\n"),
        code(GOOD + "\n\ndef update_belief(belief, action, obs):\n    return None\n"),
        code("A = '" + "x" * 40_000 + "'\n" + GOOD),
    ],
)
async def test_a_reply_without_a_usable_program_gives_no_program_and_says_why(
    sandbox: Sandbox, bad: str | Reply
) -> None:
    update, _, memory = await learn(sandbox, bad, calls_per_episode=1)
    assert update.reason == "no reply gave a better program" and len(reports(update)) == 1
    assert list(memory) == ["transitions/00001.json"]


@pytest.mark.parametrize("bad", ["", "I cannot say.", reply(code(GOOD), "length"), "```python\n(\n```"])
async def test_a_reply_without_code_leaves_the_old_program(sandbox: Sandbox, bad: str | Reply) -> None:
    update, _, memory = await learn(sandbox, bad, memory={PATH: HOPEFUL}, calls_per_episode=1)
    assert memory[PATH] == HOPEFUL and update.reason == "no reply gave a better program"


@pytest.mark.parametrize("start", ["while True:\n    pass\n", "print('chatter')\n", "raise SystemExit\n"])
async def test_only_definitions_are_taken_over(sandbox: Sandbox, start: str) -> None:
    for memory in ({}, {PATH: HOPEFUL}):
        _, _, after = await learn(sandbox, code(start + GOOD), memory=memory, calls_per_episode=1)
        assert start.split("\n")[0] not in after[PATH] and "goal_reward" in after[PATH]


async def test_no_action_changes_nothing(sandbox: Sandbox) -> None:
    malformed = Step("hm", malformed_observation(), 0.0, False, False, Validity.MALFORMED)
    update, _, memory = await learn(sandbox, trajectory=played(malformed))
    assert update.outcome is UpdateOutcome.UNCHANGED and not memory


async def test_trailing_code_that_does_not_parse_is_dropped(sandbox: Sandbox) -> None:
    _, _, memory = await learn(sandbox, code(f"{GOOD}\n\ndef rest(a):\n    if a\n"))
    assert memory[PATH].strip() == GOOD.strip()


async def test_later_definitions_override_and_others_stay(sandbox: Sandbox) -> None:
    spoiled = GOOD.replace("not key", "key")
    right = GOOD.partition("\n\ndef goal_reward")[0]
    _, bench, memory = await learn(sandbox, code(right), memory={PATH: spoiled})
    assert len(bench.asked) == 1 and memory[PATH].strip() == GOOD.strip()


async def test_a_program_without_hope_is_refined_to_know_a_plan(sandbox: Sandbox) -> None:
    """No door was seen, so only a guess gives hope; a guess that contradicts what was seen does not count."""
    hopeless = GOOD.replace('{"take"', '{"push": "a pushed hall", "take"')
    hopeful = hopeless.replace("if obs ==", 'if "pushed" in belief["last_obs"] or obs ==')
    rash = hopeless.replace("if obs ==", 'if action == "push" or obs ==')
    lost, memory = played(*WALK, step("push", "a pushed hall")), {PATH: hopeless}
    update, bench, after = await learn(
        sandbox, code(rash), code(hopeful), memory=memory, trajectory=lost, plan_calls=2
    )
    assert bench.purposes == ["optimism"] * 2 and after[PATH].strip() == hopeful.strip()
    assert "Action: push" in bench.prompt(0) and "First observation:\na hall" in bench.prompt(0)
    assert [report.rpartition(" ")[2] for report in reports(update)] == ["0.900", "1.000"]
    update, bench, after = await learn(sandbox, memory=after, trajectory=lost, plan_calls=2)
    assert bench.asked == [] and update.reason == "the program explains the episode"


# --- scoring -----------------------------------------------------------------------------------


async def test_no_prediction_counts_half_and_an_exception_nothing(sandbox: Sandbox) -> None:
    known = "{'walk': {'valid': True}, 'take': None}"
    program = f"def predict(belief, action):\n    return {known}[action.split()[0]]\n"
    bench, episode = FakeBench(verify=sandbox.verify), buffer.finished(OPENED, 1, 600)
    keys = [Key(1, index) for index in (0, 1, 10)]
    scored = await score(bench, program, [episode], keys, 0.8)
    assert "".join(scored.letters.values()) == "x1h" and scored.value == 0.5
    assert scored.wrong == (Key(1, 0), Key(1, 10))
    assert "KeyError" in await explanation(bench, program, episode, 0, 0.8)
    assert "line 2, in predict" in await explanation(bench, program, episode, 0, 0.8)


async def test_many_episodes_are_scored_in_several_executions(sandbox: Sandbox) -> None:
    long = played(*(step(f"walk {n}", f"hall {n} " + "w" * 1_000) for n in range(40)))
    episodes = [buffer.finished(long, number, 1_200) for number in range(1, 9)]
    keys = [Key(episode.number, index) for episode in episodes for index in range(40)]
    bench = FakeBench(verify=sandbox.verify)
    assert (await score(bench, HOPEFUL, episodes, keys, 0.8)).value == 1.0


async def test_the_longest_episode_fits_into_one_execution(sandbox: Sandbox) -> None:
    program = HOPEFUL + "\n# " + "x" * 29_000
    long = played(
        *(step(f"walk {n} {'a' * 300}", f"hall {n}\n" + ("word " * 5 + "\n") * 50) for n in range(100))
    )
    episode, bench = buffer.finished(long, 1, room(100, 1_200)), FakeBench(verify=sandbox.verify)
    keys = [Key(1, index) for index in range(100)]
    assert (await score(bench, program, [episode], keys, 0.8)).value == 1.0


# --- acting ------------------------------------------------------------------------------------


def view(**more: Any) -> View:
    return View(TASK, "Rules.", 30, FIRST, (), 0, (), more.pop("memory", {PATH: GOOD}), {}, **more)


async def decide(sandbox: Sandbox, *replies: str, **more: Any) -> tuple[Decision, FakeBench]:
    bench = FakeBench(*replies, verify=sandbox.verify)
    decision = await WorldcoderAgent(WorldcoderSettings()).act(view(**more), bench)
    assert not bench.replies
    return decision, bench


def plans(*listed: Sequence[str]) -> str:
    return json.dumps({"thought": "Let me see.", "plans": listed})


async def test_the_plan_with_the_highest_return_is_acted_on(sandbox: Sandbox) -> None:
    decision, bench = await decide(sandbox, plans(["open"], ["walk", "walk", "walk"], ["take", "open"]))
    assert (decision.kind, decision.content) == (TurnKind.ACTION, "take")
    assert decision.said.startswith("Let me see. ") and decision.said.endswith("\n\nAction: take")
    assert bench.purposes == ["propose"] and "Let me see." in decision.thought
    assert bench.prompt(0, 0).rstrip().endswith(LAST) and "list of 1 to 5 actions" in bench.prompt(0)


async def test_ties_go_to_the_longest_valid_beginning_then_to_the_first(sandbox: Sandbox) -> None:
    decision, _ = await decide(sandbox, plans(["walk", "open", "a", "b"], ["run", "run"], ["go", "go"]))
    assert decision.content == "run"


@pytest.mark.parametrize(
    "said", ["", "open the door", '{"plans": []}', '{"plans": "x"', plans(["open"]), "[1]"]
)
async def test_where_no_plan_can_be_used_a_plain_turn_is_taken(sandbox: Sandbox, said: str) -> None:
    decision, bench = await decide(sandbox, said, "Well.\n\nAction: walk")
    assert decision.content == "walk" and bench.purposes == ["propose", "act"]


@pytest.mark.parametrize(
    "program",
    ["def predict(:\n", "import os\n", "def predict(b, a):\n    while True:\n        pass\n", "x = 1\n"],
)
async def test_where_the_program_fails_a_plain_turn_is_taken(sandbox: Sandbox, program: str) -> None:
    said = plans(["take"])
    decision, _ = await decide(sandbox, said, "Well.\n\nAction: walk", memory={PATH: program})
    assert decision.content == "walk"


@pytest.mark.parametrize("said", ["9" * 400, "-" + "9" * 400, "1e10", "NaN", "1, -1", "1, 9"])
async def test_a_forged_return_is_none(sandbox: Sandbox, said: str) -> None:
    answer = said if "," in said else f"{said}, 1"
    forged = f"lambda *values: _say('@result [[{answer}, \"done\"]]')"
    program = f"{GOOD}\n_say = print\n__builtins__['print'] = {forged}\n"
    decision, _ = await decide(sandbox, plans(["take"]), "Action: walk", memory={PATH: program})
    assert decision.content == "walk"


async def test_a_program_that_does_not_end_is_not_scored_on(sandbox: Sandbox) -> None:
    long = played(*(step(f"walk {n}", f"hall {n} " + "w" * 1_000) for n in range(40)))
    episodes = [buffer.finished(long, number, 1_200) for number in range(1, 9)]
    asked: list[str] = []

    def verify(objects: str, procedures: Files) -> tuple[Verdict, ...]:
        asked.extend(procedures)
        return sandbox.verify(objects, procedures)

    keys = [Key(episode.number, index) for episode in episodes for index in range(40)]
    endless = "def predict(belief, action):\n    while True:\n        pass\n"
    scored = await score(FakeBench(verify=verify), endless, episodes, keys, 0.8)
    assert not scored.explained and scored.problem and len(asked) == 1


async def test_without_a_program_and_in_a_correction_there_is_one_plain_call(sandbox: Sandbox) -> None:
    cases: tuple[dict[str, Any], ...] = ({"memory": {}}, {"correcting": True})
    for more in cases:
        _, bench = await decide(sandbox, "Action: walk", **more)
        assert bench.purposes in (["act"], ["act_correction"])
