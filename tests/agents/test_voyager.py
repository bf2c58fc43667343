"""Voyager: programs act, what reached the goal is kept with a description, and later programs call it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from agents.acting import observed
from agents.parsing import UnreadableReply
from agents.protocol import Decision, View
from agents.skills.program import Call
from agents.voyager.agent import VoyagerAgent
from agents.voyager.library import descriptions_in, fitting, needed, stored, used
from agents.voyager.settings import VoyagerSettings
from agents.voyager.writing import read_program, take_apart
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import (
    Exchange,
    Files,
    MemoryUpdate,
    Message,
    Reply,
    Trajectory,
    Turn,
    TurnKind,
    UpdateOutcome,
)
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, step, trajectory

FETCH = 'def fetch(thing):\n    """Take a thing."""\n    act(f"take {thing}")\n'
CODE = f"{FETCH}\n\nfetch('cup')\n"
CRITICISM = json.dumps({"reasoning": "No cup.", "success": False, "critique": "Find the cup first."})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=1.0, cpu_seconds=1)) as sandbox:
        yield sandbox


def answer(code: str = CODE, thought: str = "I fetch it.") -> str:
    return f"{thought}\n\n```python\n{code}```"


def view(memory: Files | None = None, *turns: TurnKind, told: str = "> take cup\nno cup here") -> View:
    """An episode's first turn, or the one after turns of these kinds."""
    transcript: Sequence[Message] = ()
    if turns:
        transcript = (Message("assistant", "…"), observed(told, 1, 30))
    return View(
        TASK,
        "Rules.",
        30,
        FIRST,
        transcript,
        len(turns),
        (),
        memory or {},
        {},
        correcting=bool(turns) and turns[-1] is TurnKind.MALFORMED,
        turns=[Turn(1, kind, "", "no program", "", 0) for kind in turns],
        exchanges=(Exchange("take cup", "no cup here"),) if turns else (),
    )


async def acted(
    sandbox: Sandbox, here: View, *replies: str | Reply, **settings: int
) -> tuple[Decision, FakeBench]:
    bench = FakeBench(*replies, verify=sandbox.verify)
    return await VoyagerAgent(VoyagerSettings.model_validate(settings)).act(here, bench), bench


async def actions(decision: Decision, *answers: str) -> list[str]:
    """What a program does when it is answered so."""
    assert decision.program is not None
    taken: list[Exchange] = []
    for one in (*answers, ""):
        action = await decision.program.next(taken)
        if action is None:
            break
        taken.append(Exchange(action, one))
    return [one.action for one in taken]


# --- programs ----------------------------------------------------------------------------------


def test_a_program_is_definitions_and_a_call() -> None:
    thought, written = read_program(answer(f"import re\n{CODE}") + "\n\nThen I see:\n```python\nx()\n```")
    assert (thought, written.call) == ("I fetch it.", Call("fetch", ("cup",)))
    assert written.definitions == f"import re\n{FETCH}" and written.defines_main
    assert not take_apart("fetch('cup', count=2)\n").defines_main
    assert take_apart("def go(n=1):\n    act('go')\n").call == Call("go"), "no values are needed"


@pytest.mark.parametrize(
    "ending", ["print(fetch('cup'))", "done = fetch('cup')", "if __name__ == '__main__':\n    fetch('cup')"]
)
def test_a_call_whose_value_is_kept_or_printed_is_a_call(ending: str) -> None:
    written = take_apart(f"{FETCH}{ending}\n")
    assert (written.call, written.definitions) == (Call("fetch", ("cup",)), FETCH)


def test_blocks_before_the_one_with_the_call_belong_to_the_program() -> None:
    helper, later = "```python\ndef near():\n    return act('look')\n```", answer("x()\n")
    _, written = read_program(f"First a helper.\n{helper}\nThen:\n{answer(CODE)}\n{later}")
    assert written.call == Call("fetch", ("cup",)) and "def near" in written.definitions
    _, first = read_program(f"{answer(CODE)}\n{helper}")
    assert "def near" not in first.definitions


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("WHAT = 'cup'; fetch('cup')\n", "a line of its own"),
        ("def fetch(:\n", "no Python"),
        (FETCH, "last line must call"),
        (f"{FETCH}fetch(cup)\n", "last line must call"),
        (f"{FETCH}fetch('a')\nfetch('b')\n", "line 4 stands outside"),
        (f"{FETCH}for n in 'ab':\n    fetch(n)\nfetch('c')\n", "line 4 stands outside"),
        (f"import os\n{CODE}", "os"),
        (f"{FETCH}def act(x):\n    pass\nfetch('cup')\n", "defines act"),
        ("def f():\n    open('x')\nf()\n", "open"),
        ("x = 1\n", "last line must call"),
    ],
)
def test_what_is_wrong_with_a_program_is_told(code: str, why: str) -> None:
    with pytest.raises(UnreadableReply, match=why):
        read_program(answer(code))


@pytest.mark.parametrize(
    "text", ["", "I would fetch it.", "```python\nf()\n", '{"program": "f()"}', "Action: go"]
)
async def test_a_reply_without_a_program_is_malformed(sandbox: Sandbox, text: str) -> None:
    decision, _ = await acted(sandbox, view(), text)
    assert decision.kind is TurnKind.MALFORMED and decision.content and decision.program is None


async def test_a_cut_off_program_is_malformed(sandbox: Sandbox) -> None:
    decision, _ = await acted(sandbox, view(), reply(answer(), "length"))
    assert decision.kind is TurnKind.MALFORMED and "cut off" in decision.content


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def f():\n    1 / 0\nf()\n", "ZeroDivisionError"),
        ("def f():\n    pass\nf()\n", "came to its end"),
        ("unknown('x')\n", "unknown is not defined"),
        ("def f():\n    while True:\n        pass\nf()\n", "endless loop"),
    ],
)
async def test_a_program_without_an_action_is_malformed(sandbox: Sandbox, code: str, why: str) -> None:
    decision, _ = await acted(sandbox, view(), answer(code))
    assert decision.kind is TurnKind.MALFORMED and why in decision.content


# --- acting ------------------------------------------------------------------------------------


async def test_a_program_acts_and_its_number_of_actions_is_bounded(sandbox: Sandbox) -> None:
    decision, bench = await acted(sandbox, view(), answer())
    assert (decision.kind, decision.content, decision.thought) == (TurnKind.PROGRAM, CODE, "I fetch it.")
    assert decision.said == answer() and bench.purposes == ["act"]
    assert await actions(decision, "ok") == ["take cup"]
    endless = "def f():\n    while True:\n        act('go')\nf()\n"
    decision, _ = await acted(sandbox, view(), answer(endless), max_acts=3)
    assert await actions(decision, *["ok"] * 9) == ["go"] * 3


async def test_a_critic_is_heard_between_programs(sandbox: Sandbox) -> None:
    decision, bench = await acted(sandbox, view({}, TurnKind.PROGRAM), CRITICISM, answer())
    assert bench.purposes == ["critic", "act"] and decision.kind is TurnKind.PROGRAM
    asked = bench.prompt(0)
    assert FIRST.goal in asked and "no cup here" in asked and "> take cup" not in asked
    assert bench.prompt(1).endswith("> take cup\nno cup here\n\nCritique: Find the cup first.")


@pytest.mark.parametrize(
    "bad", ["", "Good work.", "[1]", '{"success": "yes", "critique": 3}', reply(CRITICISM, "length")]
)
async def test_a_critic_that_cannot_be_understood_is_not_heard(sandbox: Sandbox, bad: str | Reply) -> None:
    decision, bench = await acted(sandbox, view({}, TurnKind.PROGRAM), bad, bad, answer())
    assert bench.purposes == ["critic", "critic_correction", "act"] and decision.kind is TurnKind.PROGRAM
    assert "Critique" not in bench.prompt(2)


async def test_an_error_speaks_for_itself(sandbox: Sandbox) -> None:
    failed = view({}, TurnKind.PROGRAM, told="> take cup\nno cup here\nAn error ended it: ValueError")
    _, bench = await acted(sandbox, failed, answer())
    assert bench.purposes == ["act"] and "ValueError" in bench.prompt(0)
    _, bench = await acted(sandbox, view({}, TurnKind.PROGRAM), answer(), critic=False)
    assert bench.purposes == ["act"]


async def test_what_was_wrong_is_told_in_the_words_of_programs(sandbox: Sandbox) -> None:
    _, bench = await acted(sandbox, view({}, TurnKind.MALFORMED), answer())
    assert bench.purposes == ["act_correction"]
    told = bench.prompt(0)
    assert told.startswith("That reply could not be used: no program.") and "Action:" not in told


async def test_the_prompt_is_of_programs_only(sandbox: Sandbox) -> None:
    _, bench = await acted(sandbox, view(), answer())
    system = bench.prompt(0, 0)
    assert system.endswith("write nothing after it: the environment answers.") and "Action:" not in system


# --- the library -------------------------------------------------------------------------------


def library(*names: str) -> dict[str, str]:
    memory: dict[str, str] = {}
    for name in names:
        memory = stored(memory, name, FETCH.replace("fetch", name), f"Gets a {name} cup", 99)
    return memory


async def test_programs_that_fit_the_goal_are_shown_and_all_can_be_called(sandbox: Sandbox) -> None:
    memory = stored(library("red", "blue"), "planks", FETCH.replace("fetch", "planks"), "oak planks", 9)
    code = "def both():\n    planks('oak')\n    red('cup')\n\n\nboth()\n"
    decision, bench = await acted(sandbox, view(memory), answer(code), top_k=1)
    system = bench.prompt(0, 0)
    assert "# planks: oak planks\ndef planks(thing):" in system and "def red" not in system
    assert await actions(decision, "ok", "ok") == ["take oak", "take cup"]


async def test_the_prompt_stays_within_its_budget(sandbox: Sandbox) -> None:
    """Eight thousand tokens at four characters each, however much is stored."""
    settings, memory = VoyagerSettings(), dict[str, str]()
    for number in range(120):
        source = f"X = '{'x' * (settings.program_chars - 6)}'"
        memory = stored(memory, f"cup{number}", source, "cup " * 200, settings.max_skills)
    assert len(descriptions_in(memory)) == settings.max_skills
    _, short = await acted(sandbox, view(), answer())
    _, long = await acted(sandbox, view(memory), answer())
    assert 20_000 < len(long.prompt(0, 0)) - len(short.prompt(0, 0)) <= 32_000


def test_the_best_fit_comes_first_and_the_later_of_equals() -> None:
    memory = library("red", "blue", "green")
    assert fitting(memory, "a blue cup", 2) == ["blue", "green"]
    assert fitting({}, "a cup", 5) == [] and len(fitting(memory, "a cup", 5)) == 3


def test_what_a_program_calls_comes_with_what_that_calls() -> None:
    memory = stored(library("a", "b", "c"), "d", "def d():\n    b('x')\n", "D", 9)
    memory = stored(memory, "b", "def b(x):\n    a(x)\n    d()\n", "B", 9)
    assert list(needed("d()", memory)) == ["a", "b", "d"] and needed("print(1)", memory) == {}


def test_the_program_that_was_not_used_for_longest_goes_unless_another_calls_it() -> None:
    memory = used(library("a", "b", "c"), ["a"])
    assert list(descriptions_in(memory)) == ["b", "c", "a"]
    memory = stored(memory, "d", "def d():\n    c('x')\n", "D", 3)
    assert list(descriptions_in(memory)) == ["c", "a", "d"] and "skills/b.py" not in memory
    memory = stored(memory, "e", "def e():\n    act('x')\n", "E", 3)
    assert list(descriptions_in(memory)) == ["c", "d", "e"], "c is called by d"
    memory = stored(memory, "d", "def d():\n    act('x')\n", "again", 3)
    assert descriptions_in(memory)["d"] == "again"


# --- learning ----------------------------------------------------------------------------------


def success(code: str = CODE) -> Trajectory:
    episode = trajectory(step("take cup", done=True, success=True))
    turn = replace(episode.turns[0], kind=TurnKind.PROGRAM, content=code)
    return replace(episode, turns=(turn,))


async def learned(
    *replies: str | Reply, code: str = CODE, memory: Files | None = None, **settings: int
) -> tuple[MemoryUpdate, FakeBench]:
    bench = FakeBench(*replies)
    agent = VoyagerAgent(VoyagerSettings.model_validate(settings))
    return await agent.learn(success(code), memory or {}, bench), bench


async def test_a_program_that_reached_the_goal_is_kept_with_its_description() -> None:
    update, bench = await learned("Takes a thing\nthat lies about.")
    memory = apply({}, update.delta)
    assert update.outcome is UpdateOutcome.COMMITTED
    assert memory["skills/fetch.py"] == FETCH and "fetch('cup')" not in memory["skills/fetch.py"]
    assert descriptions_in(memory) == {"fetch": "Takes a thing that lies about."}
    assert (bench.purposes, bench.stages, bench.temperatures) == (["describe"], ["update"], [0.0])
    assert CODE.strip() in bench.prompt(0)


async def test_the_same_name_is_replaced() -> None:
    memory = apply({}, (await learned("Old."))[0].delta)
    update, _ = await learned("New.", code=CODE.replace("take", "grab"), memory=memory)
    memory = apply(memory, update.delta)
    assert "grab" in memory["skills/fetch.py"] and descriptions_in(memory) == {"fetch": "New."}


async def test_a_call_of_what_is_stored_is_no_new_program() -> None:
    memory = library("fetch", "other")
    update, bench = await learned(code="fetch('cup')\n", memory=memory)
    assert list(descriptions_in(apply(memory, update.delta))) == ["other", "fetch"] and not bench.asked
    update, _ = await learned(code="other('cup')\n", memory=memory)
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ()) and "only calls" in update.reason


@pytest.mark.parametrize(
    "bad", ["", "<think>hm", "```\n```", reply("Takes a", "length"), reply("x", "content_filter")]
)
async def test_without_a_description_nothing_is_kept(bad: str | Reply) -> None:
    update, bench = await learned(bad, bad, memory=library("a"))
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ()) and "not kept" in update.reason
    assert bench.purposes == ["describe", "describe_correction"]


async def test_half_surrogates_do_not_reach_the_memory() -> None:
    update, _ = await learned("Takes \ud800 a thing.")
    assert descriptions_in(apply({}, update.delta)) == {"fetch": "Takes \ufffd a thing."}


@pytest.mark.parametrize("name", ["main", "act", "print", "größe", "x" * 300])
async def test_names_that_say_nothing_are_not_kept(name: str) -> None:
    code = f"def {name}():\n    pass\n\n\n{name}()\n"
    update, bench = await learned(code=code)
    assert update.outcome is UpdateOutcome.UNCHANGED and "not kept" in update.reason and not bench.asked


async def test_long_programs_are_not_kept() -> None:
    update, _ = await learned(code=f"X = '{'x' * 300}'\n{CODE}", program_chars=300)
    assert "longer than 300" in update.reason


async def test_failures_and_foreign_successes_teach_nothing() -> None:
    agent = VoyagerAgent(VoyagerSettings())
    for episode in (trajectory(step("look")), trajectory()):
        update = await agent.learn(episode, {}, FakeBench())
        assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ()) and update.reason
