"""ASI: skills are induced from successes, verified on a new instance of the task, and called as actions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from agents.asi.agent import AsiAgent
from agents.asi.induction import cleaned
from agents.asi.library import skills_in
from agents.asi.settings import AsiSettings
from agents.protocol import Decision, View
from agents.skills.program import ScriptProgram
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import (
    Exchange,
    Files,
    MemoryUpdate,
    Observation,
    Reply,
    Step,
    Trajectory,
    TurnKind,
    UpdateOutcome,
    Validity,
)
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, trajectory

FETCH = '''def fetch(thing):
    """Take a thing and put it down.

    thing: its name. Example: fetch('cup')
    """
    act(f"take {thing}")
    return act(f"put {thing}")
'''
DEF = "def fetch(thing):\n    "
EPISODE = ("look", "take cup", "put cup", "win")


class Room:
    """``win`` ends it well once the cup is put down; only what is held can be put down."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self.resets = 0

    async def reset(self, task: object = None) -> Observation:
        self.actions, self.resets = [], self.resets + 1
        return FIRST

    async def step(self, action: str) -> Step:
        verb, _, thing = action.partition(" ")
        known = {"look": True, "take": True, "put": f"take {thing}" in self.actions}
        known["win"] = "put cup" in self.actions
        fine = known.get(verb, False)
        self.actions.append(action)
        text = "nothing" if not fine or verb == "look" else f"seen {len(self.actions)}"
        won = fine and verb == "win"
        return Step(action, text, float(won), won, won, Validity.VALID if fine else Validity.REFUSED)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=1.0, cpu_seconds=1)) as sandbox:
        yield sandbox


def success() -> Trajectory:
    steps = [Step(action, "seen", 0.0, False, False, Validity.VALID) for action in EPISODE]
    return trajectory(*steps[:-1], replace(steps[-1], success=True, done=True, reward=1.0))


def answer(code: str = FETCH, *lines: str) -> str:
    rewritten = "\n".join(lines or ("look", "fetch('cup')", "win"))
    return f"```python\n{code}```\n\nRewritten episode:\n```text\n{rewritten}\n```"


async def learned(
    sandbox: Sandbox,
    *replies: str | Reply,
    memory: Files | None = None,
    episode: Trajectory | None = None,
    **settings: int,
) -> tuple[MemoryUpdate, FakeBench]:
    bench = FakeBench(*replies, verify=sandbox.verify, rehearsal=Room())
    agent = AsiAgent(AsiSettings.model_validate(settings))
    return await agent.learn(episode or success(), memory or {}, bench), bench


async def acted(
    sandbox: Sandbox, text: str, memory: Files, exchanges: tuple[Exchange, ...] = ()
) -> tuple[Decision, FakeBench]:
    view = View(TASK, "Rules.", 10, FIRST, (), len(exchanges), (), memory, {}, exchanges=exchanges)
    bench = FakeBench(text, verify=sandbox.verify)
    return await AsiAgent(AsiSettings()).act(view, bench), bench


def usage(memory: Files) -> Mapping[str, int]:
    counts: Mapping[str, int] = json.loads(memory["usage.json"])
    return counts


# --- learning ----------------------------------------------------------------------------------


async def test_a_skill_is_kept_when_its_episode_comes_out_again(sandbox: Sandbox) -> None:
    update, bench = await learned(sandbox, answer())
    memory = apply({}, update.delta)
    assert update.outcome is UpdateOutcome.COMMITTED and memory["skills/fetch.py"] == FETCH
    assert usage(memory) == {"fetch": 0}
    ((verdict,),) = (one.verdicts for one in update.rounds)
    assert (verdict.path, verdict.ok, verdict.kind) == ("skills/fetch.py", True, "ok")
    assert (bench.purposes, bench.temperatures, bench.stages) == (["induce"], [0.7], ["update", "verify"])


async def test_what_is_known_is_shown_by_signature_and_docstring(sandbox: Sandbox) -> None:
    memory = apply({}, (await learned(sandbox, answer()))[0].delta)
    _, bench = await learned(sandbox, "NO SKILLS", memory=memory)
    known = bench.prompt(0).partition("# What is known")[2]
    assert "".join(known.split()) == "".join(FETCH.partition("    act(")[0].split())


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        (DEF + "act('take cup')\n    act('put cup')\n    1 / 0\n", "exception", "ZeroDivision"),
        (DEF + "act('take cup')\n    act('fly')\n", "exception", "did not carry out fly"),
        (DEF + "for n in range(2):\n        act('look')\n", "exception", "changes nothing"),
        (DEF + "if 0:\n        act('a')\n        act('b')\n", "exception", "changes nothing"),
        (DEF + "act('take jar')\n    act('put jar')\n", "replay", "does not reach the goal"),
        (DEF + "while True:\n        act('take cup')\n", "replay", "does not reach the goal"),
        (DEF + "act('a')\n    act('b')\n    while 1:\n        pass\n", "exception", "not carry out"),
        ("def fetch(a, b):\n    act('take cup')\n    act('put cup')\n", "exception", "TypeError"),
        ("import os\n" + DEF + "act('a')\n    act('b')\n", "static", "os"),
        (DEF + "act('a')\n    eval('act')('b')\n    act('c')\n", "static", "eval"),
        (DEF + "act = print\n    act('a')\n    act('b')\n", "static", "defines act"),
        (DEF + "act('put cup')\n", "static", "acts 1 times"),
        (DEF + "act('take cup')\n    " * 16, "static", "16 lines of 15"),
        (DEF + "try:\n     act('a')\n     act('b')\n    except E:\n     0\n", "static", "exceptions"),
        ("def inspect(t):\n    act('a')\n    act('b')\n", "static", "cannot be used"),
        ("def print(t):\n    act('a')\n    act('b')\n", "static", "cannot be used"),
        ("def unused(t):\n    act('a')\n    act('b')\n", "static", "does not call it"),
    ],
)  # fmt: skip
async def test_a_wrong_skill_is_rejected_and_the_library_stays(
    sandbox: Sandbox, code: str, kind: str, why: str
) -> None:
    update, _ = await learned(sandbox, answer(code))
    assert (update.outcome, update.delta) == (UpdateOutcome.REJECTED, ())
    (verdict,) = update.rounds[-1].verdicts
    assert (verdict.ok, verdict.kind) == (False, kind) and why in verdict.report
    assert update.reason == f"{verdict.path}: {kind}"


async def test_all_or_none_of_the_called_skills_are_kept(sandbox: Sandbox) -> None:
    bad = "def bad():\n    act('take cup')\n    act('fly')\n"
    update, _ = await learned(sandbox, answer(FETCH + bad, "fetch('cup')", "bad()", "win"))
    assert update.outcome is UpdateOutcome.REJECTED
    assert [(one.path, one.kind) for one in update.rounds[-1].verdicts] == [
        ("skills/fetch.py", "replay"),
        ("skills/bad.py", "exception"),
    ]


async def test_a_skill_that_is_not_called_is_left_out_and_the_others_are_kept(sandbox: Sandbox) -> None:
    update, _ = await learned(sandbox, answer(FETCH + "def idle():\n    act('a')\n    act('b')\n"))
    assert [change.path for change in update.delta] == ["skills/fetch.py", "usage.json"]
    assert [one.ok for one in update.rounds] == [False, True]


@pytest.mark.parametrize(
    "lines", [("fetch('cup')", "lose()", "win"), ("fetch(cup)",), ("win",), ("fetch('cup')",)]
)
async def test_a_rewritten_episode_that_does_not_hold_rejects_its_skills(
    sandbox: Sandbox, lines: tuple[str, ...]
) -> None:
    update, _ = await learned(sandbox, answer(FETCH, *lines))
    assert (update.outcome, update.delta) == (UpdateOutcome.REJECTED, ())


async def test_a_skill_goes_no_further_than_the_end_of_the_episode(sandbox: Sandbox) -> None:
    code = FETCH.replace("return act", "act") + '    act("win")\n    act("more")\n'
    room = Room()
    bench = FakeBench(answer(code, "fetch('cup')", "look"), verify=sandbox.verify, rehearsal=room)
    update = await AsiAgent(AsiSettings()).learn(success(), {}, bench)
    assert update.outcome is UpdateOutcome.COMMITTED and room.actions == ["take cup", "put cup", "win"]


async def test_known_names_cannot_be_written_again_but_called(sandbox: Sandbox) -> None:
    memory = apply({}, (await learned(sandbox, answer()))[0].delta)
    update, _ = await learned(sandbox, answer(FETCH.replace("put", "drop")), memory=memory)
    assert update.outcome is UpdateOutcome.REJECTED and "taken" in update.rounds[0].verdicts[0].report
    twice = "def twice(thing):\n    for n in range(2):\n        act(f'take {thing}')\n"
    update, _ = await learned(sandbox, answer(twice, "twice('jar')", "fetch('cup')", "win"), memory=memory)
    assert usage(apply(memory, update.delta)) == {"fetch": 0, "twice": 0}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "I would keep the way it went.",
        reply(answer(), "length"),
        '{"skills": []}',
        "```python\ndef fetch(:\n```\n```text\nwin\n```",
        f"```python\n{FETCH}```",
        "```text\nlook\nwin\n```",
        f"```python\n{FETCH}",
        answer(f"X = '\ud800'\n{FETCH}"),
    ],
)
async def test_an_unreadable_reply_changes_nothing(sandbox: Sandbox, bad: str | Reply) -> None:
    update, bench = await learned(sandbox, bad, bad)
    assert (update.outcome, update.delta) == (UpdateOutcome.UNCHANGED, ())
    assert "unreadable skills" in update.reason and bench.purposes == ["induce", "induce_correction"]


@pytest.mark.parametrize(
    ("episode", "why"),
    [
        (trajectory(*[Step("look", "", 0, False, False, Validity.VALID)] * 9), "only successes"),
        (trajectory(), "fewer than 3"),
        (trajectory(*[Step("x", "", 0, False, False, Validity.REFUSED)] * 9, success().steps[-1]), "fewer"),
    ],
)
async def test_failures_and_short_successes_teach_nothing(
    sandbox: Sandbox, episode: Trajectory, why: str
) -> None:
    update, bench = await learned(sandbox, episode=episode)
    assert why in update.reason and not bench.asked and update.outcome is UpdateOutcome.UNCHANGED


def test_an_episode_is_cleaned_by_rules() -> None:
    steps = [Step(str(n), "", 0, False, False, Validity.VALID) for n in range(3)]
    steps[0] = replace(steps[0], validity=Validity.REFUSED)
    episode = trajectory(*steps)
    first, second, third = episode.turns
    spoken = (first, replace(second, thought="I go. Then I see."), replace(third, kind=TurnKind.PROGRAM))
    clean = cleaned(replace(episode, turns=spoken))
    assert [step.action for step in clean.steps] == ["1", "2"]
    assert [(turn.step, turn.thought) for turn in clean.turns] == [
        (1, "I go."),
        (2, "thought 3 (by the skill call 2)"),
    ]


# --- the library -------------------------------------------------------------------------------


def called(*names: str) -> Trajectory:
    """A failed episode with these calls."""
    episode = trajectory(*[Step("look", "", 0, False, False, Validity.VALID)] * (len(names) or 1))
    turns = [
        replace(turn, kind=TurnKind.PROGRAM, content=f"{name}('cup')")
        for turn, name in zip(episode.turns, names, strict=False)
    ]
    return replace(episode, turns=tuple(turns))


def named(name: str) -> str:
    return FETCH.replace("def fetch", f"def {name}")


async def test_the_least_used_skill_goes_first_the_oldest_of_equals(sandbox: Sandbox) -> None:
    memory: Files = {}
    for name in ("a", "b", "c"):
        update, _ = await learned(sandbox, answer(named(name), f"{name}('cup')", "win"), memory=memory)
        memory = apply(memory, update.delta)
    update, _ = await learned(sandbox, memory=memory, episode=called("a", "c", "c", "gone"))
    memory = apply(memory, update.delta)
    assert usage(memory) == {"a": 1, "b": 0, "c": 2}
    for name, left in (("d", "acd"), ("e", "ace"), ("f", "acf")):
        reply = answer(named(name), f"{name}('cup')", "win")
        update, _ = await learned(sandbox, reply, memory=memory, max_skills=3)
        memory = apply(memory, update.delta)
        assert "".join(skills_in(memory)) == left == "".join(usage(memory))


async def test_source_has_a_budget(sandbox: Sandbox) -> None:
    memory: Files = {}
    for name in ("a", "b", "c", "d", "e", "f", "g"):
        reply = answer(named(name), f"{name}('cup')", "win")
        update, _ = await learned(sandbox, reply, memory=memory, skill_tokens=200)
        memory = apply(memory, update.delta)
        assert sum(len(text) for path, text in memory.items() if path.startswith("skills/")) <= 800
    assert "g" in skills_in(memory) and "a" not in skills_in(memory)


async def test_new_skills_alone_do_not_pass_the_bounds(sandbox: Sandbox) -> None:
    both = named("fetch") + named("other"), "fetch('cup')", "other('cup')", "win"
    update, _ = await learned(sandbox, answer(*both), max_skills=1)
    assert update.outcome is UpdateOutcome.REJECTED
    large = FETCH.replace("Example", "x" * 900)
    update, _ = await learned(sandbox, answer(large, "fetch('cup')", "win"), skill_tokens=200)
    assert update.outcome is UpdateOutcome.REJECTED


# --- acting ------------------------------------------------------------------------------------

MEMORY = {"skills/fetch.py": FETCH, "usage.json": '{"fetch": 0}\n'}


async def test_skills_stand_in_the_prompt_and_are_called_as_actions(sandbox: Sandbox) -> None:
    decision, bench = await acted(sandbox, "I fetch it.\nAction: fetch('cup')", MEMORY)
    system = bench.prompt(0, 0)
    assert FETCH.strip() in system and "\n# Skills\n" in system
    assert (decision.kind, decision.content) == (TurnKind.PROGRAM, "fetch('cup')")
    program = decision.program
    assert isinstance(program, ScriptProgram)
    taken = [Exchange("take cup", "ok")]
    assert [await program.next([]), await program.next(taken)] == ["take cup", "put cup"]


async def test_a_skill_sees_the_last_observation(sandbox: Sandbox) -> None:
    memory = {"skills/say.py": "def say():\n    act(last_observation())\n    act('x')\n"}
    for exchanges, expected in (((), FIRST.text), ((Exchange("look", "a cup"),), "a cup")):
        decision, _ = await acted(sandbox, "Action: say()", memory, exchanges)
        assert decision.program and await decision.program.next([]) == expected


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("fetsh('cup')", "no skill fetsh; the skills are fetch"),
        ("fetch(cup)", "literal"),
        ("fetch('cup', *x)", "literal"),
        ("fetch({1})", "literal"),
        ("fetch(b'cup')", "literal"),
        ("fetch(the cup)", "no Python"),
        ("fetch()", "missing 1 required positional argument"),
        ("fetch('a\\nb')", "one line"),
    ],
)
async def test_a_call_that_cannot_be_made_is_malformed(sandbox: Sandbox, action: str, why: str) -> None:
    decision, _ = await acted(sandbox, f"Action: {action}", MEMORY)
    assert decision.kind is TurnKind.MALFORMED and why in decision.content and decision.program is None


@pytest.mark.parametrize(
    "action",
    ["move: from [I1] to [A1] with quantity 1", "impossible: no (really)", "take cup", "0", "(look)"],
)
async def test_all_else_is_an_action_of_the_environment(sandbox: Sandbox, action: str) -> None:
    decision, _ = await acted(sandbox, f"Action: {action}", MEMORY)
    assert (decision.kind, decision.content) == (TurnKind.ACTION, action)


async def test_without_skills_there_are_no_calls(sandbox: Sandbox) -> None:
    decision, bench = await acted(sandbox, "Action: fetch('cup')", {})
    assert decision.kind is TurnKind.ACTION and "Skills" not in bench.prompt(0, 0)
