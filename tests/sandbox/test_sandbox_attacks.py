"""Known kinds of escape, against the whole sandbox, with a cloned K_o and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from knowledge_store.sandbox import Policy, Sandbox, Tier
from ocm.types import Verdict
from tests.sandbox.attacks import ATTACKS, OBJECTS

POLICY = Policy(wall_seconds=10.0, cpu_seconds=1, memory_mb=64)
GOOD = "from objects import Box\nassert Box(1).add(2) == 3\n"
Verdicts = Mapping[str, Verdict]


@pytest.fixture(scope="module", params=[(), ("namespaces",)], ids=["cloned", "alone"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """With every layer, and with K_o executed anew for each procedure (no user namespace)."""
    with Sandbox(replace(POLICY, disabled_layers=request.param)) as sandbox:
        assert sandbox.protections.tier is (Tier.B if request.param else Tier.A)
        yield sandbox


@pytest.fixture(scope="module")
def verdicts(sandbox: Sandbox) -> Verdicts:
    """All attacks in one batch, between two good procedures."""
    files = {f"procedures/{name}.py": attack.source for name, attack in ATTACKS.items()}
    files |= {"procedures/a_good.py": GOOD, "procedures/zz_good.py": GOOD}
    return {verdict.path: verdict for verdict in sandbox.verify(OBJECTS, files)}


@pytest.mark.parametrize("name", ATTACKS)
def test_contained_and_reported(verdicts: Verdicts, name: str) -> None:
    verdict = verdicts[f"procedures/{name}.py"]
    assert not verdict.ok
    assert verdict.kind in ATTACKS[name].kinds, verdict
    assert ATTACKS[name].says in verdict.report, verdict
    assert 0 < len(verdict.report) <= POLICY.report_chars
    assert len(verdict.output) <= POLICY.output_bytes
    assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in verdict.report)


def test_the_neighbours_of_attacks_pass(verdicts: Verdicts) -> None:
    assert verdicts["procedures/a_good.py"].ok
    assert verdicts["procedures/zz_good.py"].ok


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
    leave = (
        "import objects, json, collections\nobjects.Box(1)\nobjects.left = collections.left = json.left = 1\n"
    )
    look = "import objects, json, collections\nobjects.Box(1)\n" + "".join(
        f"assert not hasattr({name}, 'left')\n" for name in ("objects", "collections", "json")
    )
    files = {f"procedures/{i}.py": leave if i % 2 == 0 else look for i in range(8)}
    assert all(verdict.ok for verdict in sandbox.verify(OBJECTS, files))
    assert all(verdict.ok for verdict in sandbox.verify(OBJECTS, files))
