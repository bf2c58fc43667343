"""Every attack, as root and as an ordinary user, with every layer and without each of them.

Where seccomp is in force, every attack is contained and reported, the procedures beside it pass, and
nothing outside has changed. By default the attacks that run into a limit on time are played in two
cells; with ``-m faults`` they are in all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from knowledge_store.sandbox import LAYERS
from ocm.identity import sha256
from tests.sandbox.cell import LIMITS
from tests.sandbox.hostile import ATTACKS, BY_KIND, Attack
from tests.sandbox.hostile.chance import UNBOUND
from tests.sandbox.hostile.forging import LIES
from tests.sandbox.ordinary import ROOT

KEY = f"ocm-canary-{sha256('the key of the owner')}"
ENOUGH = 80
NEED_LIMITS = frozenset(name for name in ATTACKS if name.startswith(("exhaustion.", "timeouts.")))
"""Nothing but ``rlimits`` bounds memory; to play them without would be felt by the whole machine."""
REQUIRED = {"seccomp": "seccomp: missing, switched off", "no_new_privs": "seccomp: missing, prctl"}
"""Layers without which nothing is run, and what is said then."""
SPARE = tuple(name for name in LAYERS if name not in REQUIRED)
CELLS = [(user, without) for user in ("root", "ordinary") for without in ((), *((name,) for name in SPARE))]
WHOLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ordinary", ()),
    ("root", ("namespaces",)),
)
"""Where the attacks on time are played by default."""

NAKED = tuple(name for name in LAYERS if name not in ("unprivileged", "rlimits"))
WITHOUT_SECCOMP = frozenset(
    {
        "chance.chance",
        "chance.clock_by_call",
        "chance.used_time",
        "introspection.machine",
        "kernel.epoll",
        "kernel.eventfd",
        "kernel.fcntl",
        "kernel.executable_memory",
        "kernel.memfd",
        "kernel.timer",
        "leaks.shared_pages",
        "leaks.shared_pages_native",
        "network.pair",
        "network.netlink",
    }
)
"""What succeeds where seccomp alone is missing: why that is tier D."""
WITHOUT_WALLS = WITHOUT_SECCOMP | {
    "files.follow_link",
    "files.go_up",
    "files.list",
    "files.make_folder",
    "files.open_beneath",
    "files.read",
    "files.symlink",
    "files.write",
    "introspection.list_descriptors",
    "introspection.look_up_owner",
    "language.attribute_error",
    "language.augmented",
    "language.built_ins",
    "language.code_overwritten",
    "language.except_star",
    "language.frames",
    "language.generator_frame",
    "language.own_import",
    "language.pickled",
    "network.listen",
    "network.tcp",
}
"""What succeeds where no wall stands: these attacks are real. Those that could harm are not played."""


@cache
def cell(
    user: str,
    without: tuple[str, ...],
    names: tuple[str, ...],
    degraded: bool = False,
    role: str = "procedure",
) -> dict[str, Any]:
    """The outcome of one cell; skips the test where there is no such user."""
    module = "tests.sandbox.ordinary" if user == "ordinary" and os.getuid() == 0 else "tests.sandbox.cell"
    if user == "root" and os.getuid() != 0:
        pytest.skip("the tests run as an ordinary user: there is no root to be")
    job = {"names": names, "disabled": without, "degraded": degraded, "role": role}
    done = subprocess.run(
        [sys.executable, "-B", "-m", module],
        cwd=ROOT,
        env={"OCM_HOSTILE_KEY": KEY},
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    if "skip" in result:
        pytest.skip(result["skip"])
    return result


def chosen(user: str, without: tuple[str, ...], *, on_time: bool) -> tuple[str, ...]:
    """The attacks of a cell."""
    names = [name for name in ATTACKS if without != ("rlimits",) or name not in NEED_LIMITS]
    return tuple(name for name in names if on_time or not _is_slow(name))


def _is_slow(name: str) -> bool:
    return "timeout" in ATTACKS[name].kinds


def assert_contained(result: Mapping[str, Any], names: Sequence[str]) -> None:
    """All reported as expected, neighbours unharmed, nothing outside changed, no key seen."""
    verdicts = result["verdicts"]
    wrong = [(name, problem) for name in names if (problem := _problem(ATTACKS[name], verdicts[name]))]
    assert not wrong
    assert [verdicts[f"{place}_good"]["kind"] for place in "amz"] == ["ok"] * 3
    assert [verdict["kind"] for verdict in result["after"]] == ["ok"]
    assert result["changed"] == []
    assert KEY not in json.dumps(result)


def _problem(attack: Attack, verdict: Mapping[str, Any]) -> str:
    report = verdict["report"]
    if verdict["ok"] or verdict["kind"] not in attack.kinds or attack.says not in report:
        return f"{verdict['kind']}: {report}"
    if not 0 < len(report) <= 1500 or len(verdict["output"]) > 4096:
        return f"{len(report)} characters of report, {len(verdict['output'])} of output"
    return "FOUND" if "FOUND" in verdict["output"] else ""


def test_there_are_enough_attacks_of_every_kind() -> None:
    assert len(ATTACKS) >= ENOUGH and all(len(attacks) >= 9 for attacks in BY_KIND.values())
    sources = [attack.source for attack in ATTACKS.values()]
    assert len(set(sources)) >= len(sources) - 1, "each attack is another one"
    assert len({attack.follows for attack in ATTACKS.values()}) == 9, "every public kind is followed"


@pytest.mark.parametrize(("user", "without"), CELLS, ids=lambda part: "".join(part) or "all")
def test_contained(user: str, without: tuple[str, ...]) -> None:
    names = chosen(user, without, on_time=(user, without) in WHOLE)
    result = cell(user, without, names)
    assert set(without) <= set(result["missing"])
    assert (result["user"] == 0) == (user == "root")
    assert_contained(result, names)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("user", "without"),
    [one for one in CELLS if one not in WHOLE and one[1] != ("rlimits",)],
    ids=lambda part: "".join(part) or "all",
)
def test_contained_in_time(user: str, without: tuple[str, ...]) -> None:
    names = tuple(name for name in ATTACKS if _is_slow(name))
    assert_contained(cell(user, without, names), names)


@pytest.mark.parametrize("user", ["root", "ordinary"])
@pytest.mark.parametrize("layer", REQUIRED)
def test_refused_without(user: str, layer: str) -> None:
    result = cell(user, (layer,), ())
    assert "NOT CONTAINED" in result["refused"] and REQUIRED[layer] in result["refused"]
    assert f"{layer}: missing, switched off by the policy" in result["refused"]
    assert "allow_degraded" in result["refused"]


@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_what_a_degraded_sandbox_no_longer_stops(user: str) -> None:
    names = tuple(sorted(WITHOUT_WALLS))
    result = cell(user, ("seccomp",), names, degraded=True)
    if result["missing"] != ["seccomp"]:
        pytest.skip(f"this machine offers less than all other layers: {result['missing']}")
    assert passed(result, names) == WITHOUT_SECCOMP
    assert result["tier"] == "D" and result["changed"] == []


@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_the_attacks_are_real(user: str) -> None:
    """With every wall off they succeed, and what they aim at is changed."""
    names = tuple(sorted(WITHOUT_WALLS))
    result = cell(user, NAKED, names, degraded=True)
    assert passed(result, names) == WITHOUT_WALLS
    assert {"file", "folder", "port"} <= set(result["changed"])


def test_the_key_is_real() -> None:
    """An ordinary user's code without walls reads the key of its owner."""
    result = cell("ordinary", NAKED, ("environment.owners_environment",), degraded=True)
    assert passed(result, ("environment.owners_environment",))


def passed(result: Mapping[str, Any], names: Collection[str]) -> set[str]:
    return {name for name in names if result["verdicts"][name]["ok"]}


@pytest.mark.parametrize("without", [(), ("namespaces",)], ids=["cloned", "alone"])
def test_as_objects(without: tuple[str, ...]) -> None:
    """The same attacks in K_o, which is executed first and in a process that may clone itself."""
    unused = ("forging.unused", "forging.unused_and_caught")
    names = tuple(name for name in chosen("root", (), on_time=False) if name not in unused)
    result = cell("root" if os.getuid() == 0 else "ordinary", without, names, role="objects")
    assert set(result["verdicts"]) == set(names)
    assert not passed(result, names)
    assert [verdict["kind"] for verdict in result["after"]] == ["ok"]
    assert result["changed"] == [] and KEY not in json.dumps(result)


def test_lies_are_about_oneself() -> None:
    """A procedure may forge its own verdict; its neighbours' stand."""
    names = tuple(f"lies.{name}" for name in LIES)
    result = cell("ordinary", (), (*names, "files.read"))
    assert passed(result, names) == set(names)
    assert_contained(result, ["files.read"])


def test_chance_that_is_not_walled_stays_inside() -> None:
    names = tuple(f"unbound.{name}" for name in UNBOUND)
    result = cell("ordinary", (), (*names, "files.read"))
    for name in UNBOUND:
        assert result["verdicts"][f"unbound.{name}"]["kind"] in UNBOUND[name].kinds
    assert_contained(result, ["files.read"])


def test_the_limits_are_the_cells() -> None:
    assert LIMITS["wall_seconds"] > 2 * LIMITS["cpu_seconds"] + 1
