"""AWM: successes become workflows that stand in the next prompts, and too many are merged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents import registry
from agents.awm.workflows import PATH, Workflow, read, written
from agents.protocol import Agent, View
from agents.rendering import without_invalid_steps
from knowledge_store.memory import apply
from ocm.errors import SpecError
from ocm.types import Files, MemoryUpdate, Reply, Trajectory, UpdateOutcome, Validity
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, step, trajectory

BLOCK = (
    "## open {door}\nwhen: a {door} is closed\n"
    "1. {door} closed -> it must open -> open {door}\n2. open -> go -> go\n"
)
HOSTILE = "## ok\nwhen: x\n1. import os -> __import__('os').remove('a')\n"


def agent(**settings: int) -> Agent:
    return registry.create("awm", settings)


def view(memory: Files) -> View:
    return View(TASK, "Rules.", 30, FIRST, (), 0, (), memory, {})


def held(*names: str) -> dict[str, str]:
    return {PATH: written(Workflow(name, f"{name} is needed", ("a -> b", "c -> d")) for name in names)}


def names(memory: Files) -> list[str]:
    return [one.name for one in read(memory[PATH])]


def with_invalid_steps() -> Trajectory:
    played = trajectory(
        step("kick it", text="ouch"),
        step("open it", text="opened"),
        step("sing", text="la"),
        step("win", success=True),
    )
    validities = (Validity.REFUSED, Validity.VALID, Validity.MALFORMED, Validity.VALID)
    steps = (replace(one, validity=validity) for one, validity in zip(played.steps, validities, strict=True))
    return replace(played, steps=tuple(steps))


async def learned(bench: FakeBench, memory: Files, **settings: int) -> MemoryUpdate:
    return await agent(**settings).learn(trajectory(), memory, bench)


async def test_a_workflow_stands_in_the_next_acting_prompt() -> None:
    update = await learned(FakeBench(BLOCK), {})
    assert update.outcome is UpdateOutcome.COMMITTED
    bench = FakeBench("Action: look")
    await agent().act(view(apply({}, update.delta)), bench)
    assert "\n\n# Workflows\n" in bench.prompt(0, 0) and bench.prompt(0, 0).endswith(BLOCK.rstrip())


async def test_without_workflows_the_prompt_is_that_of_react() -> None:
    bench, plain = FakeBench("Action: look"), FakeBench("Action: look")
    await agent().act(view({}), bench)
    await registry.create("react", {}).act(view({}), plain)
    assert bench.asked == plain.asked


async def test_the_question_holds_what_led_forward_and_the_names_of_what_is_known() -> None:
    bench = FakeBench(BLOCK)
    await agent(max_new=2).learn(with_invalid_steps(), held("take {it}"), bench)
    user = bench.prompt(0)
    assert "at most 2 workflows" in bench.prompt(0, 0)
    assert "[1] thought: thought 2\n    action: open it" in user and "[2] thought: thought 4" in user
    assert "kick" not in user and "sing" not in user and "4 actions, 2 of them invalid" in user
    assert user.endswith("# What is known\n- take {it}: take {it} is needed")
    assert (bench.purposes, bench.stages, bench.temperatures) == (["induce"], ["update"], [0.0])


def test_valid_steps_are_counted_anew_with_their_turns() -> None:
    valid = without_invalid_steps(with_invalid_steps())
    assert [(turn.step, turn.content) for turn in valid.turns] == [(1, "open it"), (2, "win")]
    assert [one.action for one in valid.steps] == ["open it", "win"] and valid.success


@pytest.mark.parametrize("played", [trajectory(step("wait")), trajectory(step("win", success=True))])
async def test_a_failure_or_a_single_step_teaches_nothing(played: Trajectory) -> None:
    bench = FakeBench()
    update = await agent().learn(played, held("one"), bench)
    assert (update.outcome, update.delta, bench.asked) == (UpdateOutcome.UNCHANGED, (), []) and update.reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the reply is empty"),
        ("<think>hm", "the reply is empty"),
        ("The door was opened.", "it holds no workflow"),
        ('{"workflows": [{"name": "open"}]}', "it holds no workflow"),
        ("```python\nimport os\nos.remove('x')\n```", "it holds no workflow"),
        (HOSTILE, "it holds no workflow"),
        (reply(BLOCK, "length"), "cut off"),
        (reply(BLOCK, "content_filter"), "withheld"),
    ],
)
async def test_an_unusable_reply_is_asked_again_once_and_changes_nothing(
    answer: str | Reply, reason: str
) -> None:
    bench = FakeBench(answer, answer)
    update = await learned(bench, held("one"))
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ())
    assert update.reason.startswith("no workflow: ") and reason in update.reason
    assert bench.purposes == ["induce", "induce_correction"]


async def test_a_corrected_reply_counts() -> None:
    update = await learned(FakeBench("It went well.", BLOCK), held("one"))
    assert names(apply({}, update.delta)) == ["one", "open {door}"]


@pytest.mark.parametrize("answer", ["NO WORKFLOWS", "No workflows.", held("one")[PATH]])
async def test_nothing_new_is_an_answer(answer: str) -> None:
    bench = FakeBench(answer)
    update = await learned(bench, held("one"))
    assert (update.delta, update.reason) == ((), "the episode shows no new workflow")
    assert bench.purposes == ["induce"]


async def test_prose_about_no_workflows_does_not_hide_one() -> None:
    update = await learned(FakeBench(f"There were no workflows so far.\n\n{BLOCK}"), {})
    assert names(apply({}, update.delta)) == ["open {door}"]


async def test_text_that_no_file_can_hold_is_mended() -> None:
    update = await learned(FakeBench(BLOCK.replace("a {door}", "a \ud83d")), {})
    assert "a \ufffd is closed" in apply({}, update.delta)[PATH]


async def test_an_episode_adds_a_few_at_most() -> None:
    update = await learned(FakeBench(held(*"abcdef")[PATH]), {})
    assert names(apply({}, update.delta)) == ["a", "b", "c"]


async def test_one_too_many_are_merged() -> None:
    bench = FakeBench(BLOCK, held("all doors", "two")[PATH])
    update = await learned(bench, held("one", "two", "three"), max_workflows=3, consolidate_to=2)
    assert names(apply({}, update.delta)) == ["two", "all doors"]
    assert bench.purposes == ["induce", "consolidate"] and "at most 2 workflows" in bench.prompt(1, 0)
    assert "# What is known\n## one\n" in bench.prompt(1) and BLOCK in bench.prompt(1) + "\n"


@pytest.mark.parametrize(
    "answer", ["", "They are all needed.", reply(BLOCK, "length"), held("a", "b", "c")[PATH], "{}"]
)
async def test_where_they_cannot_be_merged_the_oldest_go(answer: str | Reply) -> None:
    bench = FakeBench(BLOCK, answer, answer)
    update = await learned(bench, held("one", "two", "three"), max_workflows=3, consolidate_to=2)
    assert names(apply({}, update.delta)) == ["two", "three", "open {door}"]
    assert bench.purposes == ["induce", "consolidate", "consolidate_correction"]


async def test_the_memory_is_bounded_in_tokens_too() -> None:
    wide = {PATH: "\n".join(Workflow(name, "", (f"a -> {'b' * 1500}", "c -> d")).text for name in "xyz")}
    bench = FakeBench(BLOCK, wide[PATH])
    update = await learned(bench, wide, memory_tokens=1_000)
    memory = apply({}, update.delta)
    assert names(memory) == ["y", "z"] and len(memory[PATH]) <= 4_000


@pytest.mark.parametrize("merge", ["They are all needed.", held(*"abcdefghijkl")[PATH]])
async def test_the_acting_prompt_stays_bounded_over_hundreds_of_episodes(merge: str) -> None:
    memory: dict[str, str] = {}
    for number in range(200):
        block = Workflow(f"routine {number}", "it is needed", (f"a -> {'b' * 500}", f"c -> {'d' * 500}")).text
        update = await learned(FakeBench(block, merge, merge), memory)
        memory = apply(memory, update.delta)
        assert len(names(memory)) <= 20 and len(memory[PATH]) <= 24_000


def test_merging_must_make_fewer() -> None:
    with pytest.raises(SpecError) as caught:
        agent(max_workflows=3)
    (problem,) = caught.value.problems
    assert problem.mend == "consolidate_to must not be more than max_workflows"
