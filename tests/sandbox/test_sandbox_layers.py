"""Each layer alone stops its attack, and the attack works when the layer is off too.

Without the second half a test would show nothing: something else might have stopped the attack.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from knowledge_store.sandbox import LAYERS, Policy, Protection, Protections, Sandbox, Tier, probe
from ocm.errors import SandboxError
from ocm.types import Verdict
from tests.sandbox.hostile import OBJECTS, REACH

CONTROL = "no_new_privs"
"""Seccomp and Landlock need it; by itself it stops nothing that is tried here."""


class Case(NamedTuple):
    attack: str
    needs: tuple[str, ...] = ()
    """Layers that are on both times."""


CASES = {
    "seccomp": Case("socket.socket()", (CONTROL,)),
    "landlock": Case("open('/etc/passwd').read()", (CONTROL,)),
    "namespaces": Case(f"os.kill({os.getpid()}, 0)"),
    "empty_root": Case("os.stat('/etc/passwd')", ("namespaces",)),
    "unprivileged": Case("os.kill(1, 0)"),
    "no_new_privs": Case(
        "assert b'NoNewPrivs:\\t0' in open('/proc/self/status', 'rb').read()", ("unprivileged",)
    ),
    "not_dumpable": Case("open('/proc/%d/mem' % os.getppid(), 'rb')", ("unprivileged",)),
    "rlimits": Case("x = bytearray(300 << 20)"),
}


def attack(case: Case, layers: tuple[str, ...]) -> Verdict:
    off = tuple(name for name in LAYERS if name not in layers)
    policy = Policy(memory_mb=64, wall_seconds=10, disabled_layers=off, allow_degraded=True)
    with Sandbox(policy) as sandbox:
        assert {layer.name for layer in sandbox.protections.layers if layer.active} == set(layers)
        (verdict,) = sandbox.verify(OBJECTS, {"procedures/attack.py": REACH + case.attack})
    return verdict


@pytest.mark.parametrize("name", CASES)
def test_the_layer_stops_its_attack(name: str) -> None:
    if name == "unprivileged" and os.getuid() != 0:
        pytest.skip("only root has something to drop")
    case = CASES[name]
    with_it, without = attack(case, (*case.needs, name)), attack(case, case.needs)
    assert not with_it.ok, f"{name} is on and the attack works"
    assert without.ok, f"{name} is off and something else stops the attack: {without}"


def test_every_layer_has_a_case() -> None:
    assert set(CASES) == set(LAYERS)


def test_tiers_follow_from_the_layers() -> None:
    assert _tier(*LAYERS) is Tier.A
    assert _tier("seccomp", "landlock") is Tier.B
    assert _tier("seccomp", "no_new_privs") is Tier.C
    assert _tier(*(name for name in LAYERS if name != "seccomp")) is Tier.D


def _tier(*active: str) -> Tier:
    return Protections(tuple(Protection(name, name in active, "test") for name in LAYERS)).tier


def test_no_seccomp_is_refused_with_reason_and_mend() -> None:
    with pytest.raises(SandboxError) as caught:
        Sandbox(Policy(disabled_layers=("seccomp",)))
    assert "NOT CONTAINED" in caught.value.message
    assert "seccomp: missing, switched off by the policy" in caught.value.message
    assert "allow_degraded" in caught.value.message


def test_probe_never_refuses_and_gives_reasons() -> None:
    protections = probe(Policy(disabled_layers=("seccomp", "landlock")))
    assert protections.tier is Tier.D
    assert [layer.reason for layer in protections.layers if layer.name == "landlock"] == [
        "switched off by the policy"
    ]
    assert len(protections.describe()) == 1 + len(LAYERS)


def test_without_namespaces_tier_b_with_a_reason() -> None:
    with Sandbox(Policy(disabled_layers=("namespaces",))) as sandbox:
        assert sandbox.protections.tier is Tier.B
        assert "  empty_root: missing, needs the namespaces" in sandbox.protections.describe()
        assert not sandbox.clones
