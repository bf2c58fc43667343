"""Start, end, death and rebirth: nothing is left behind; root, ordinary users and threads alike."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from knowledge_store.sandbox import Sandbox
from ocm.errors import SandboxError

ROOT = Path(__file__).parents[2]
OBJECTS = "class Box:\n    x = 1\n"
GOOD = {"procedures/good.py": "from objects import Box\nassert Box.x\n"}
OWNER = """
import sys
from knowledge_store.sandbox import Policy, Sandbox
sandbox = Sandbox(Policy(wall_seconds=300, cpu_seconds=300, disabled_layers=tuple(sys.argv[1:])))
print("started", flush=True)
sandbox.verify("x = 1", {f"{i}.py": "while True: pass" for i in range(4)})
"""


@pytest.mark.parametrize("without", ["", "namespaces"])
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_nothing_survives_a_kill(without: str, victim: int) -> None:
    """Kill the owner (0), the zygote's outer process (1), or its next descendant (2)."""
    command = [sys.executable, "-c", OWNER, *filter(None, [without])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout and owner.stdout.readline() == b"started\n"
        family = _grown_family(owner.pid)
        family[victim].kill()
        if without and victim == 2:  # a procedure only; the zygote goes on until its owner ends
            owner.kill()
        _, alive = psutil.wait_procs(family[1:], timeout=10)
        owner.kill()
    assert not alive


def _grown_family(pid: int) -> list[psutil.Process]:
    """The owner and its descendants, top down, once the endless procedures run."""
    owner = psutil.Process(pid)
    while len(descendants := owner.children(recursive=True)) < 5:
        assert owner.status() != psutil.STATUS_ZOMBIE, "the owner ended by itself"
        time.sleep(0.02)
    return [owner, *descendants]


def _is_zygote(process: psutil.Process) -> bool:
    """Whether it is alive and a zygote's; other tests' children may have ended and not be reaped yet."""
    try:
        return "jail.zygote" in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def test_close_leaves_nothing() -> None:
    sandbox = Sandbox()
    sandbox.verify(OBJECTS, GOOD)
    family = psutil.Process().children(recursive=True)
    sandbox.close()
    sandbox.close()
    assert not [child for child in family if _is_zygote(child)]


def test_a_killed_zygote_is_an_error_and_then_replaced() -> None:
    with Sandbox() as sandbox:
        before = set(psutil.Process().children(recursive=True))
        for child in before:
            if _is_zygote(child):
                child.kill()
        with pytest.raises(SandboxError, match="verify again"):
            sandbox.verify(OBJECTS, GOOD)
        assert all(verdict.ok for verdict in sandbox.verify(OBJECTS, GOOD))


def test_a_closed_sandbox_stays_closed() -> None:
    sandbox = Sandbox()
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.verify(OBJECTS, GOOD)


def test_a_missing_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxError, match="cannot start /nowhere/python"):
        Sandbox()


def test_from_many_threads() -> None:
    results: list[bool] = []
    with Sandbox() as sandbox:

        def work() -> None:
            results.extend(verdict.ok for verdict in sandbox.verify(OBJECTS, GOOD))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 4


def test_the_owner_keeps_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 -- a count
    for _ in range(3):
        with Sandbox() as sandbox:
            sandbox.verify(OBJECTS, GOOD)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 -- a count


def test_the_owners_secrets_do_not_reach_the_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    look = "import json\nraise RuntimeError(dict(json.codecs.sys.modules['os'].environ))"
    with Sandbox() as sandbox:
        (verdict,) = sandbox.verify("", {"procedures/look.py": look})
    assert "secret" not in verdict.report
    assert "PYTHONHASHSEED" in verdict.report


ORDINARY = """
from knowledge_store.sandbox import Sandbox
with Sandbox() as sandbox:
    files = {"a.py": "from objects import Box; Box.x", "b.py": "open('/etc/passwd')"}
    verdicts = sandbox.verify("class Box: x = 1", files)
    print(sandbox.protections.tier, sandbox.clones, *[verdict.kind for verdict in verdicts])
"""


def test_as_an_ordinary_user() -> None:
    if os.getuid() != 0:
        pytest.skip("the other tests run as an ordinary user already")
    setpriv = shutil.which("setpriv")
    if not setpriv:
        pytest.skip("no setpriv on this machine")
    become = [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    python = _python_for_all(become)
    done = subprocess.run(
        [*become, python, "-B", "-c", ORDINARY], cwd=ROOT, env={}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split()[2:] == ["ok", "exception"], done.stderr
    assert done.stdout[0] in "ABC"


def _python_for_all(become: list[str]) -> str:
    """A Python 3.11 or newer that an ordinary user may start, with this project readable."""
    again = "subprocess.call([sys.executable, '-c', 'import ctypes, resource'])"
    check = f"import subprocess, sys, ocm.types; sys.exit(sys.version_info < (3, 11) or {again})"
    for python in (sys.executable, "/usr/bin/python3"):
        tried = subprocess.run([*become, python, "-B", "-c", check], cwd=ROOT, env={}, capture_output=True)
        if tried.returncode == 0:
            return python
    pytest.skip("no interpreter, or not this project, is readable for an ordinary user")
