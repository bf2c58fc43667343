"""The verifier pool: its memo and splitting alone, and real actors on Ray with real sandboxes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.sandbox import Policy, VerdictCache
from ocm.errors import SandboxError
from ocm.types import Verdict
from tasks.verify import SPLIT_ABOVE, VerifierPool, _split, joined

K_O = 'class Log:\n    """A log."""\n\n    burns = True\n'
GOOD = "from objects import Log\nassert Log().burns\n"
BAD = "from objects import Log\nassert not Log().burns\n"
ENDLESS = "from objects import Log\nwhile Log().burns:\n    pass\n"


def ok(path: str, text: bool = True) -> Verdict:
    return Verdict(path, text, "ok" if text else "exception")


# --- pure parts --------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 300)), st.integers(1, 6))
def test_split_and_join_lose_nothing(numbers: set[int], ways: int) -> None:
    procedures = {f"procedures/p{number}.py": str(number) for number in numbers}
    parts = _split(procedures, ways)
    assert 1 <= len(parts) <= ways
    assert {path: text for part in parts for path, text in part.items()} == procedures
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert len(parts) == 1 or min(map(len, parts)) >= SPLIT_ABOVE
    verdicts = joined([[ok(path) for path in part] for part in parts])
    assert [verdict.path for verdict in verdicts] == sorted(procedures)


def test_k_o_that_fails_counts_alone() -> None:
    failed = ok("objects.py", False)
    assert joined([[ok("procedures/a.py")], [failed]]) == (failed,)


def test_the_memo_knows_equal_inputs_only() -> None:
    memo = VerdictCache(10)
    memo.add(K_O, {"a": GOOD, "b": BAD}, [ok("a"), ok("b", False)])
    known, missing = memo.split(K_O, {"a": GOOD, "b": BAD, "c": GOOD})
    assert [(v.path, v.ok, v.cached) for v in known] == [("a", True, True), ("b", False, True)]
    assert missing == {"c": GOOD}
    assert memo.split(K_O, {"a": GOOD + "\n"})[1] == {"a": GOOD + "\n"}
    assert memo.split(K_O + "\n", {"a": GOOD})[1] == {"a": GOOD}


def test_the_memo_knows_a_k_o_that_fails() -> None:
    memo = VerdictCache(10)
    memo.add("1/0", {"a": GOOD}, [ok("objects.py", False)])
    assert [v.path for v in memo.split("1/0", {"z": GOOD})[0]] == ["objects.py"]
    memo.add(K_O, {}, [ok("objects.py")])
    assert memo.split(K_O, {"a": GOOD}) == ((), {"a": GOOD}), "a pass of K_o says nothing of procedures"
    assert len(memo.split(K_O, {})[0]) == 1


@pytest.mark.parametrize("kind", ["timeout", "killed", "protocol"])
def test_what_a_busy_machine_may_have_caused_is_asked_again(kind: str) -> None:
    memo = VerdictCache(10)
    memo.add(K_O, {"a": GOOD}, [Verdict("a", False, kind)])
    assert memo.split(K_O, {"a": GOOD})[1] == {"a": GOOD}


def test_the_memo_forgets_the_least_recently_used() -> None:
    memo = VerdictCache(2)
    memo.add(K_O, {"a": "1", "b": "2"}, [ok("a"), ok("b")])
    memo.split(K_O, {"a": "1"})
    memo.add(K_O, {"c": "3"}, [ok("c")])
    assert memo.split(K_O, {"a": "1", "b": "2", "c": "3"})[1] == {"b": "2"}


# --- on Ray ------------------------------------------------------------------------------------


@pytest.fixture
async def pool(ray_session: None) -> AsyncIterator[VerifierPool]:
    pool = VerifierPool(Policy(wall_seconds=3.0), actors=2)
    yield pool
    await pool.close()


def paths(verdicts: tuple[Verdict, ...]) -> list[tuple[str, bool]]:
    return [(verdict.path, verdict.ok) for verdict in verdicts]


async def test_verdicts_and_memo(pool: VerifierPool) -> None:
    assert await pool.tier() in "ABCD"
    first = await pool.verify(K_O, {"procedures/b.py": BAD, "procedures/a.py": GOOD})
    assert paths(first) == [("procedures/a.py", True), ("procedures/b.py", False)]
    started = time.monotonic()
    again = await pool.verify(K_O, {"procedures/a.py": GOOD, "procedures/b.py": BAD})
    assert time.monotonic() - started < 0.05
    assert paths(again) == paths(first) and all(verdict.cached for verdict in again)
    mixed = await pool.verify(K_O, {"procedures/a.py": GOOD, "procedures/c.py": GOOD})
    assert [verdict.cached for verdict in mixed] == [True, False]
    assert paths(await pool.verify("1/0", {"procedures/a.py": GOOD})) == [("objects.py", False)]
    assert paths(await pool.verify(K_O, {})) == [("objects.py", True)]
    assert await pool.verify("", {}) == ()


async def test_a_large_memory_is_spread(pool: VerifierPool) -> None:
    procedures = {f"procedures/p{number:03}.py": GOOD + f"# {number}\n" for number in range(3 * SPLIT_ABOVE)}
    procedures["procedures/p010.py"] = BAD
    verdicts = await pool.verify(K_O, procedures)
    assert [verdict.path for verdict in verdicts] == sorted(procedures)
    assert [verdict.path for verdict in verdicts if not verdict.ok] == ["procedures/p010.py"]
    assert len(pool._started) == 2


async def test_many_at_once_share_two_actors(pool: VerifierPool) -> None:
    candidates = [(K_O + f"N = {number}\n", {"procedures/a.py": GOOD}) for number in range(12)]
    answers = await asyncio.gather(*(pool.verify(*candidate) for candidate in candidates))
    assert all(paths(answer) == [("procedures/a.py", True)] for answer in answers)
    assert len(pool._started) == 2 and pool._free.qsize() == 2


async def test_an_actor_killed_while_it_verifies_is_replaced(pool: VerifierPool) -> None:
    import ray

    await pool.tier()
    (first,) = pool._started
    verifying = asyncio.create_task(pool.verify(K_O, {"procedures/a.py": ENDLESS}))
    await asyncio.sleep(0.5)
    ray.kill(first)
    (verdict,) = await verifying
    assert (verdict.path, verdict.kind) == ("procedures/a.py", "timeout")
    assert first not in pool._started and pool._free.qsize() == 2


async def test_a_cancelled_caller_leaves_no_busy_actor_behind(pool: VerifierPool) -> None:
    await pool.tier()
    (busy,) = pool._started
    waiting = [
        asyncio.create_task(pool.verify(K_O, {"procedures/a.py": ENDLESS + f"# {n}\n"})) for n in range(4)
    ]
    await asyncio.sleep(1.0)
    for task in waiting:
        task.cancel()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)
    assert busy not in pool._started and pool._free.qsize() == 2
    assert paths(await pool.verify(K_O, {"procedures/b.py": GOOD})) == [("procedures/b.py", True)]


async def test_an_actor_that_does_not_answer_is_lost(ray_session: None) -> None:
    pool = VerifierPool(Policy(wall_seconds=3.0), actors=1)
    await pool.tier()
    pool._patience = -14.0
    with pytest.raises(SandboxError, match=r"lost 3 times in a row \(TimeoutError"):
        await pool.verify(K_O, {"procedures/a.py": ENDLESS, "procedures/b.py": ENDLESS})
    assert pool._free.qsize() == 1 and not pool._started
    await pool.close()


async def test_a_refusal_reaches_the_caller_as_it_is(ray_session: None) -> None:
    pool = VerifierPool(Policy(disabled_layers=("seccomp",)), actors=1)
    with pytest.raises(SandboxError, match="cannot be contained here") as caught:
        await pool.tier()
    assert type(caught.value) is SandboxError
    await pool.close()


async def test_a_verdict_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = VerifierPool(Policy(), actors=1)

    async def forgets(method: str, seconds: float, *arguments: object) -> Any:
        return ()

    monkeypatch.setattr(pool, "_call", forgets)
    with pytest.raises(SandboxError, match=r"no verdict on procedures/a\.py"):
        await pool.verify(K_O, {"procedures/a.py": GOOD})


async def test_a_failed_start_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = VerifierPool(Policy(), actors=1)
    monkeypatch.setattr(pool, "_start", lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await pool.tier()
    assert pool._free.qsize() == 1
