"""A hostile K_o, forged verdicts and what is left for others, with a cloned K_o and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from knowledge_store.sandbox import Policy, Sandbox, Tier
from tests.sandbox.hostile import OBJECTS
from tests.sandbox.hostile.chance import ATTACKS as CHANCE
from tests.sandbox.hostile.leaks import DRAW, LEAVE, LOOK

POLICY = Policy(wall_seconds=10.0, cpu_seconds=1, memory_mb=64)
GOOD = "from objects import Box\nassert Box(1).add(2) == 3\n"


@pytest.fixture(scope="module", params=[(), ("namespaces",)], ids=["cloned", "alone"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """With every layer, and with K_o executed anew for each procedure (no user namespace)."""
    with Sandbox(replace(POLICY, disabled_layers=request.param)) as sandbox:
        assert sandbox.protections.tier is (Tier.B if request.param else Tier.A)
        yield sandbox


HOSTILE_OBJECTS = {
    "endless": ("while True: pass", "timeout"),
    "exits": ("import json\njson.codecs.sys.modules['os']._exit(0)", "protocol"),
    "fails": ("x = 1\nx.y", "exception"),
    "syntax": ("class Box", "syntax"),
    "floods": ("while True: print('x' * 1000)", "output"),
    "fills": ("x = [0]\nwhile True: x += x", "memory"),
}


@pytest.mark.parametrize("name", HOSTILE_OBJECTS)
def test_failing_objects_give_one_verdict(sandbox: Sandbox, name: str) -> None:
    source, kind = HOSTILE_OBJECTS[name]
    (verdict,) = sandbox.verify(source, {"procedures/good.py": GOOD})
    assert (verdict.path, verdict.ok, verdict.kind) == ("objects.py", False, kind)


FORK_BOMB = (
    OBJECTS
    + """
import json
lib = json.codecs.sys.modules["jail.kernel"].LIBC
number = json.codecs.sys.modules["jail.kernel"].numbers()["clone"]
for _ in range(200):
    if lib.syscall(number, 0x8011, 0, 0, 0, 0) == 0:
        while True:
            pass
"""
)


def test_a_fork_bomb_in_objects_ends_with_its_batch(sandbox: Sandbox) -> None:
    for verdict in sandbox.verify(FORK_BOMB, {"procedures/good.py": GOOD}):
        assert verdict.kind in {"ok", "killed", "timeout", "protocol"}
    assert all(verdict.ok for verdict in sandbox.verify(OBJECTS, {"procedures/good.py": GOOD}))


BLANKET = (
    OBJECTS
    + """
import json
kernel = json.codecs.sys.modules["jail.execute"]
kernel.Executor._attempt = lambda self, module: (self._tell("ok", ""), "ok")[1]
"""
)
SELECTIVE = (
    OBJECTS
    + """
import json
execute = json.codecs.sys.modules["jail.execute"]
original = execute.Executor._attempt
def attempt(self, module):
    if self._path == "procedures/bad.py":
        self._tell("ok", "")
        return "ok"
    return original(self, module)
execute.Executor._attempt = attempt
"""
)


def test_blanket_forging_is_caught_by_the_canary(sandbox: Sandbox) -> None:
    (verdict,) = sandbox.verify(BLANKET, {"procedures/bad.py": "1/0"})
    assert (verdict.path, verdict.kind) == ("objects.py", "protocol")


def test_selective_forging_is_a_known_limit(sandbox: Sandbox) -> None:
    """K_o may spoil the verdicts of its own candidate, and of no other. So a pass allows a commit only."""
    (verdict,) = sandbox.verify(SELECTIVE, {"procedures/bad.py": "1/0"})
    assert verdict.ok
    (verdict,) = sandbox.verify(OBJECTS, {"procedures/bad.py": "1/0"})
    assert not verdict.ok


def test_nothing_is_left_for_the_next_procedure(sandbox: Sandbox) -> None:
    files = {f"procedures/{i}.py": (LEAVE, LOOK, DRAW)[i % 3] for i in range(12)}
    for _ in range(2):
        verdicts = sandbox.verify(OBJECTS, files)
        assert [verdict.kind for verdict in verdicts] == ["ok"] * 12
        assert len({verdict.output for verdict in verdicts if verdict.output}) == 1, "the same draws"


def test_nothing_is_left_for_the_next_candidate(sandbox: Sandbox) -> None:
    sandbox.verify(OBJECTS + LEAVE, {"procedures/look.py": LOOK})
    (verdict,) = sandbox.verify(OBJECTS, {"procedures/look.py": LOOK})
    assert verdict.ok, verdict


def test_a_second_run_gives_equal_verdicts(sandbox: Sandbox) -> None:
    files = {f"procedures/{name}.py": attack.source for name, attack in CHANCE.items()}
    with Sandbox(sandbox.policy) as other:
        runs = [one.verify(OBJECTS, files) for one in (sandbox, sandbox, other)]
    plain = [[replace(verdict, seconds=0.0) for verdict in run] for run in runs]
    assert plain[0] == plain[1] == plain[2]


ANNOUNCING = (
    OBJECTS
    + """
import json
os = json.codecs.sys.modules["os"]
def write(text):
    for descriptor in range(3, 40):
        try:
            os.write(descriptor, text)
        except OSError:
            pass
"""
)


@pytest.mark.parametrize("announcement", ["P99 1", "P0 x", "P0 " + "9" * 5000, "P", "P-1 1", "P0 1"])
def test_objects_that_announce_without_end_are_stopped(sandbox: Sandbox, announcement: str) -> None:
    source = f"{ANNOUNCING}while True:\n    write(b{announcement!r})\n"
    (verdict,) = sandbox.verify(source, {"procedures/good.py": GOOD})
    assert (verdict.path, verdict.kind) == ("objects.py", "protocol")


def test_memory_that_clones_would_share_is_refused(sandbox: Sandbox) -> None:
    source = OBJECTS + "\nimport json\npage = json.codecs.sys.modules['mmap'].mmap(-1, 4096)\n"
    (verdict,) = sandbox.verify(source, {"procedures/good.py": GOOD})
    assert verdict.kind == "exception" and "PermissionError" in verdict.report
