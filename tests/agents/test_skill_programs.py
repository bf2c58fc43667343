"""Code that acts: one action after another in the real sandbox, whatever the code does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agents.skills.program import Call, Script, ScriptProgram
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Exchange
from tests.agents.fakes import FakeBench

LOOP = """def fill(cells, amount=1):
    for cell in cells:
        seen = act(f"put {amount} into {cell}")
        if "full" in seen:
            act("stop")
            return
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=2.0)) as sandbox:
        yield sandbox


def program(sandbox: Sandbox, source: str, *arguments: Any, **more: Any) -> ScriptProgram:
    call = Call(more.pop("name", "fill"), arguments, more.pop("named", {}))
    return ScriptProgram(Script("p.py", source, call, "at first", **more), FakeBench(verify=sandbox.verify))


async def played(program: ScriptProgram, *answers: str) -> tuple[list[str], str]:
    """Its actions, each answered by the next of the answers, and what is told afterwards."""
    taken: list[Exchange] = []
    for answer in answers:
        action = await program.next(taken)
        if action is None:
            break
        taken.append(Exchange(action, answer))
    else:
        assert await program.next(taken) is None, "it should have ended"
    return [one.action for one in taken], program.told(taken)


async def test_code_acts_on_what_it_observes(sandbox: Sandbox) -> None:
    actions, told = await played(
        program(sandbox, LOOP, ["A", "B", "C"], named={"amount": 2}), "ok", "full", "!"
    )
    assert actions == ["put 2 into A", "put 2 into B", "stop"]
    assert told == "> put 2 into A\nok\n> put 2 into B\nfull\n> stop\n!\nIt came to its end."


async def test_the_last_observation_can_be_read_again(sandbox: Sandbox) -> None:
    source = "def fill():\n    act(last_observation() + '!')\n    act(last_observation() + '?')\n"
    actions, _ = await played(program(sandbox, source), "one", "two")
    assert actions == ["at first!", "one?"]


async def test_an_exception_ends_it_and_is_told(sandbox: Sandbox) -> None:
    source = "def fill():\n    act('go')\n    return 1 / 0\n"
    failing = program(sandbox, source)
    actions, told = await played(failing, "ok")
    assert actions == ["go"] and "ended it: p.py, line 3, in fill" in told
    assert failing.problem.endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("handler", ["except Exception", "except BaseException", "except"])
async def test_a_broad_handler_cannot_act_twice_without_an_observation(
    sandbox: Sandbox, handler: str
) -> None:
    source = (
        f"def fill():\n    try:\n        act('one')\n    {handler}:\n        act('caught')\n    act('two')\n"
    )
    assert (await played(program(sandbox, source), "ok", "ok"))[0] == ["one", "two"]
    endless = f"def fill():\n while True:\n  try:\n   act('one')\n  {handler}:\n   pass\n"
    looping = program(sandbox, endless)
    action = await looping.next([])
    assert action == "one" or "endless loop" in looping.ending


async def test_the_number_of_acts_is_bounded(sandbox: Sandbox) -> None:
    source = "def fill():\n    while True:\n        act('go')\n"
    actions, told = await played(program(sandbox, source, max_acts=3), "1", "2", "3", "4")
    assert actions == ["go"] * 3 and told.endswith("ended after 3 actions, which is the most.")


async def test_observations_stay_below_what_the_sandbox_takes(sandbox: Sandbox) -> None:
    source = "def fill():\n    while True:\n        act('go')\n"
    long = program(sandbox, source)
    for text in ('"\\\n' * 14_000, "\N{HORIZONTAL ELLIPSIS}" * 20_000, "x" * 149_000):
        assert await long.next([Exchange("go", text)]) == "go"
    assert await long.next([Exchange("go", "x" * 151_000)]) is None and "read more" in long.ending


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def fill():\n    act(3)\n", "as text"),
        ("def fill():\n    act('a\\nb')\n", "one line"),
        ("def fill():\n    act('\\ud800')\n", "one line"),
        ("def fill():\n    act('')\n", "one line"),
        ("def fill(a):\n    act('go')\n", "missing 1 required positional argument"),
        ("def other():\n    act('go')\n", "fill is not defined"),
        ("def fill():\n    raise SystemExit\n", "without an exit"),
        ("import os\ndef fill():\n    act(os.getcwd())\n", "'os' is not available"),
        ("def fill(:\n", "p.py, line 1"),
        ("def fill():\n    act.__self__.action = ['forged']\n", "as text"),
    ],
)
async def test_hostile_and_broken_code_ends_without_an_action(
    sandbox: Sandbox, source: str, problem: str
) -> None:
    broken = program(sandbox, source)
    assert await broken.next([]) is None
    assert problem in broken.ending and broken.problem in broken.ending


async def test_a_library_is_called_and_names_do_not_mix(sandbox: Sandbox) -> None:
    library = {
        "fetch": "def say(what):\n    act('library: ' + what)\n\ndef fetch(what):\n    say(what)\n",
        "twice": "def say(what):\n    fetch(what)\n\ndef twice(what):\n    say(what)\n    say(what)\n",
    }
    source = "def say(what):\n    act('own: ' + what)\n\ndef fill():\n    say('a')\n    twice('b')\n"
    actions, _ = await played(program(sandbox, source, library=library), "", "", "")
    assert actions == ["own: a", "library: b", "library: b"]


async def test_own_functions_come_before_the_library(sandbox: Sandbox) -> None:
    source = "def fetch():\n    act('new')\n\ndef fill():\n    fetch()\n"
    library = {"fetch": "def fetch():\n    act('old')\n"}
    assert (await played(program(sandbox, source, library=library), ""))[0] == ["new"]
