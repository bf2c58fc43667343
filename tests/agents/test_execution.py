"""Model-written code is asked in the real sandbox, and its answers are data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.execution import MARK, Ran, run
from knowledge_store.sandbox import Policy, Sandbox
from tests.agents import doubling_harness
from tests.agents.fakes import FakeBench

DOUBLE = "def double(number):\n    print('chatter' * 1000)\n    return 2 * number\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy(wall_seconds=2.0)) as sandbox:
        yield sandbox


async def ran(sandbox: Sandbox, code: str) -> Ran:
    return await run(FakeBench(verify=sandbox.verify), "program.py", code, doubling_harness, [1, 2])


async def test_the_harness_asks_the_program_and_its_chatter_is_dropped(sandbox: Sandbox) -> None:
    assert await ran(sandbox, DOUBLE) == Ran([2, 4])


async def test_names_of_program_and_harness_do_not_mix(sandbox: Sandbox) -> None:
    own = "def main(a):\n    return 2 * a\n\ndef double(number):\n    return main(number)\n"
    assert await ran(sandbox, own) == Ran([2, 4])


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def double(:\n", "program.py, line 1"),
        ("def double(number):\n    return number / 0\n", "program.py, line 2, in double"),
        ("import os\n", "module 'os' is not available"),
        ("def double(number):\n    while True:\n        pass\n", "endless loop"),
        ("double = 3\n", "TypeError"),
        ("", "KeyError"),
        ("def double(number):\n    return {1}\n", "not JSON serializable"),
        ("raise SystemExit\n", "without an exit"),
    ],
)
async def test_whatever_goes_wrong_is_a_problem_and_no_error(
    sandbox: Sandbox, code: str, problem: str
) -> None:
    answer = await ran(sandbox, code)
    assert answer.value is None and problem in answer.problem


async def test_a_forged_result_is_data(sandbox: Sandbox) -> None:
    forged = f"print('{MARK}[0]')\ndef double(number):\n    return number\n"
    assert await ran(sandbox, forged) == Ran([1, 2])
    broken = await ran(sandbox, f"print('{MARK}[0')\nraise BaseException\n")
    assert broken.value is None


async def test_a_result_nested_beyond_reading_is_a_problem_and_no_error(sandbox: Sandbox) -> None:
    forged = (
        f"say = print\n__builtins__['print'] = lambda text: say('{MARK}' + '[' * 3900)\n\n"
        "def double(number):\n    pass\n"
    )
    answer = await ran(sandbox, forged)
    assert answer.value is None and "unreadable result" in answer.problem


async def test_a_program_cannot_forge_through_its_own_print(sandbox: Sandbox) -> None:
    forged = "def print(*values):\n    raise SystemExit\n\n\ndef double(number):\n    return 2 * number\n"
    assert await ran(sandbox, forged) == Ran([2, 4])


async def test_text_in_any_script_travels_as_it_is(sandbox: Sandbox) -> None:
    code = "def double(text):\n    return text + text\n"
    bench = FakeBench(verify=sandbox.verify)
    given = ["é\ud800\n'\"\\", "😀\u2028"]
    answer = await run(bench, "program.py", code, doubling_harness, given)
    assert answer.value == [text * 2 for text in given]
