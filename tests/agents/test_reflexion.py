"""Reflexion: what a failure taught stands in the next prompts, shortened and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import registry
from agents.protocol import Agent, View
from agents.reflexion.reflections import PATH, Reflection, read, reflection, written
from knowledge_store.memory import apply
from ocm.types import Files, Reply, TurnKind, UpdateOutcome
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, step, trajectory

LESSON = (
    "The first mistake was to smelt a log. Place it in the grid: move: from [I1] to [A1] with quantity 1."
)
FAILED = trajectory(step("smelt", text="nothing"), step("wait"))
HELD: Files = {PATH: written([Reflection("Craft a stick", "Planks come first.")])}


def agent(**settings: int) -> Agent:
    return registry.create("reflexion", settings)


def view(memory: Files) -> View:
    return View(TASK, "Rules.", 30, FIRST, (), 0, (), memory, {})


async def test_a_reflection_stands_word_for_word_in_the_next_acting_prompt() -> None:
    update = await agent().learn(FAILED, {}, FakeBench(LESSON))
    assert update.outcome is UpdateOutcome.COMMITTED
    bench = FakeBench("Action: look")
    decision = await agent().act(view(apply({}, update.delta)), bench)
    system = bench.prompt(0, 0)
    assert decision.kind is TurnKind.ACTION
    assert system.endswith(f"## {FAILED.goal}\n{LESSON}") and "# Lessons from recent failures" in system


async def test_without_reflections_the_prompt_is_that_of_react() -> None:
    bench, plain = FakeBench("Action: look"), FakeBench("Action: look")
    await agent().act(view({}), bench)
    await registry.create("react", {}).act(view({}), plain)
    assert bench.asked == plain.asked


async def test_a_success_stores_nothing_and_clears_nothing() -> None:
    bench = FakeBench()
    update = await agent().learn(trajectory(), HELD, bench)
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ()) and update.reason
    assert bench.asked == []


async def test_the_question_holds_goal_outcome_episode_and_what_is_known() -> None:
    bench = FakeBench(LESSON)
    await agent(words=33).learn(FAILED, HELD, bench)
    user = bench.prompt(0)
    assert "at most 33 words" in bench.prompt(0, 0)
    assert "# Task\nCraft an oak_planks\n\n# Outcome\nFailure" in user and "action: smelt" in user
    assert user.endswith("# What is known\n## Craft a stick\nPlanks come first.")
    assert (bench.purposes, bench.stages, bench.temperatures) == (["reflect"], ["reflect"], [0.0])


async def test_the_oldest_goes_first() -> None:
    memory: dict[str, str] = {}
    for number in range(5):
        update = await agent().learn(FAILED, memory, FakeBench(f"Lesson {number}."))
        memory = apply(memory, update.delta)
    assert [one.text for one in read(memory[PATH])] == ["Lesson 2.", "Lesson 3.", "Lesson 4."]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the reply is empty"),
        (" \n ", "the reply is empty"),
        ("<think>I wonder", "the reply is empty"),
        ("# ##\n#", "no whole sentence"),
        (reply("The first mistake was to", "length"), "no whole sentence"),
        (reply(LESSON, "content_filter"), "withheld"),
    ],
)
async def test_an_unusable_reply_leaves_the_memory_as_it_was(answer: str | Reply, reason: str) -> None:
    update = await agent().learn(FAILED, HELD, FakeBench(answer))
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ())
    assert update.reason.startswith("no reflection: ") and reason in update.reason


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (reply("It was wrong. It should have", "length"), "It was wrong."),
        (f"<think>Hm.</think>{LESSON}", LESSON),
        ("## Mistake\n# ## Logs do not smelt.", "Mistake\nLogs do not smelt."),
        ("import os; os.remove('x').", "import os; os.remove('x')."),
        ('{"lesson": 1}', '{"lesson": 1}'),
        ("Half of a pair: \ud83d.", "Half of a pair: \ufffd."),
    ],
)
async def test_whatever_is_kept_is_plain_text_that_a_file_can_hold(answer: str | Reply, kept: str) -> None:
    update = await agent().learn(FAILED, HELD, FakeBench(answer))
    memory = apply(HELD, update.delta)
    memory[PATH].encode()
    assert read(memory[PATH])[-1] == Reflection(FAILED.goal, kept)


@pytest.mark.parametrize(
    ("text", "words", "kept"),
    [
        ("One two three. Four five.", 5, "One two three. Four five."),
        ("One two three. Four five.", 4, "One two three."),
        ("One two three four", 3, "One two three"),
        ("1. Do this with quantity 1.\n2. Then do that at once", 9, "1. Do this with quantity 1."),
        ("- first this\n- then that and more", 5, "- first this"),
        ("x" * 99, 3, "x" * 30),
    ],
)
def test_a_long_reflection_ends_with_its_last_whole_sentence(text: str, words: int, kept: str) -> None:
    assert reflection("Goal", text, words, is_cut_off=False) == Reflection("Goal", kept)


LINES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.tuples(LINES, LINES), max_size=5), st.integers(1, 30), st.booleans())
def test_what_is_written_is_read_again(entries: list[tuple[str, str]], words: int, is_cut_off: bool) -> None:
    made = [reflection(goal, text, words, is_cut_off) for goal, text in entries]
    held = [one for one in made if one]
    assert read(written(held)) == held
    assert all(len(one.text.split()) <= words for one in held)
