"""Ray beside other child processes, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from flows import watchdog
from flows.ray_session import _ENVIRONMENT, _connect, check_answers
from ocm.errors import OrchestrationError


def test_exit_codes_of_other_children_can_still_be_read(ray_session: None) -> None:
    """Ray ignores SIGCHLD when it is asked to end the children of its workers: every code read 0."""
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode == 7


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:999999"])
def test_a_dead_cluster_is_told_at_once(address: str) -> None:
    """Ray itself tries for minutes."""
    with pytest.raises((OSError, ValueError)):
        check_answers(address)
    check_answers("auto")


def test_a_machine_too_busy_for_ray_is_told_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray raises a bare Exception when its node is not up in time."""
    import ray

    def too_busy(**settings: object) -> None:
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", too_busy)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(OrchestrationError, match=r"timed out during startup.*give the same command again"):
        _connect()


def test_a_request_to_end_is_still_ours(ray_session: None) -> None:
    """Ray took SIGTERM too: it aborted the process with a stack of C++."""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# --- how it ends ---------------------------------------------------------------------------------

DRIVER = """
import asyncio, subprocess, sys
from envs import registry
from envs.policy import Limits
from envs.pool import HostPool
from flows.ray_session import ray_session
from ocm.types import TaskRef
from tests.envs.echo import echo

class Nest:
    def __init__(self):
        for apart in (False, True):
            subprocess.Popen(["sh", "-c", "sleep 1000 & exec sleep 1000"], start_new_session=apart)
    def ready(self): return True

async def main():
    pool = HostPool(Limits(2, 2000, (2000,)))
    java = registry.entry("scienceworld")
    task = registry.create("scienceworld", {}).tasks("test.first5")[0]
    async with pool.lease(echo(), {}) as host, pool.lease(java, {}) as other:
        await host.reset(TaskRef("echo", "all", "e0", "easy"))
        await other.reset(task)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    await pool.close()

with ray_session():
    import ray
    nest = ray.remote(num_cpus=0)(Nest).remote()
    ray.get(nest.ready.remote())
    asyncio.run(main())
print("ended", flush=True)
sys.stdin.read()
"""
GONE_SECONDS = 15.0


@contextmanager
def driver() -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A driver with a host and an actor with children of all sorts; and all that it has started."""
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert any(line == "ready\n" for line in process.stdout)
            yield process, psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()


def left_of(started: list[psutil.Process], seconds: float) -> list[str]:
    """Those that are still there after so many seconds."""
    _, alive = psutil.wait_procs(started, seconds)
    return [" ".join(process.cmdline()) for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def test_nothing_outlives_a_driver_that_is_killed() -> None:
    """Ray's agents did for a minute; what its actors had started did for ever."""
    with driver() as (process, started):
        names = [child.name() for child in started]
        assert {"raylet", "gcs_server", "ray::EnvHost", "ray::RuntimeEnvAgent", "cat", "java"} <= set(names)
        assert names.count("sleep") == 5
        process.kill()
        process.wait()
        assert left_of(started, GONE_SECONDS) == []


def test_nothing_is_left_when_the_session_has_ended() -> None:
    with driver() as (process, started):
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        assert process.stdout.readline() == "ended\n"
        assert left_of(started, 0.0) == []


ORPHAN = """
import os, sys
if os.fork():
    sys.stdin.read()  # ends without having waited for its child
else:
    os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


def test_a_process_whose_parent_ends_before_the_driver_has_named_it_is_ended_too() -> None:
    """As Ray's agents, whose raylet the kernel ends with the driver: they show another title, no mark."""
    with watchdog.watched("a mark") as dog:
        assert dog is not None and dog.stdin is not None
        marked = {**os.environ, watchdog.MARK: "a mark"}
        parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, env=marked)
        while not (young := psutil.Process(parent.pid).children()) or young[0].name() != "sleep":
            time.sleep(0.01)
        time.sleep(5 * watchdog.LOOK_SECONDS)
        assert young[0].environ().get(watchdog.MARK) is None
        parent.communicate()
        assert young[0].is_running()
    assert left_of(young, 1.0) == []


def test_the_watchdog_ends_what_is_marked_or_named_and_nothing_else() -> None:
    marked, named, other, reused = (
        subprocess.Popen(["sleep", "1000"], env={**os.environ, "OCM_MADE_UP": value})
        for value in ("it", "no", "no", "no")
    )
    dog = subprocess.Popen(
        [sys.executable, "-I", "-S", watchdog.__file__, "OCM_MADE_UP=it"], stdin=subprocess.PIPE
    )
    try:
        lines = f"{named.pid} {watchdog.start_time(named.pid)}\n{reused.pid} 1\n"
        assert marked.poll() is None
        dog.communicate(lines.encode(), timeout=30)
        assert dog.returncode == 0
        assert (marked.wait(5), named.wait(5)) == (-signal.SIGKILL, -signal.SIGKILL)
        assert other.poll() is None and reused.poll() is None
    finally:
        for process in (marked, named, other, reused, dog):
            process.kill()
            process.wait()


def test_the_watchdog_ends_children_that_do_not_show_the_mark() -> None:
    """Killed while Ray starts, a driver has named nothing, and agents with a title hide their environment."""
    command = "env -i sleep 1000 & echo $!; wait"
    marked = subprocess.Popen(
        ["sh", "-c", command], env={**os.environ, "OCM_MADE_UP": "it"}, stdout=subprocess.PIPE, text=True
    )
    assert marked.stdout is not None
    child = int(marked.stdout.readline())
    started = watchdog.start_time(child)
    assert started is not None
    dog = [sys.executable, "-I", "-S", watchdog.__file__, "OCM_MADE_UP=it"]
    subprocess.run(dog, stdin=subprocess.DEVNULL, timeout=30, check=True)
    assert marked.wait(5) == -signal.SIGKILL
    assert watchdog.start_time(child) != started


def test_the_watchdog_heeds_no_request_to_end_before_its_driver() -> None:
    with watchdog.watched("a mark") as dog:
        assert dog is not None
        time.sleep(0.5)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            dog.send_signal(number)
        time.sleep(0.2)
        assert dog.poll() is None
    assert dog.returncode == 0


def test_the_watchdog_ends_nothing_that_the_driver_started_before_or_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It killed the Prefect server, before its last events had been delivered."""
    monkeypatch.setenv(watchdog.MARK, "outer")
    before = subprocess.Popen(["sleep", "1000"])
    with watchdog.watched("a mark") as dog:
        with watchdog.claimed(dog, "a mark"):
            within = subprocess.Popen(["sleep", "1000"])
        after = subprocess.Popen(["sleep", "1000"])
    try:
        assert within.wait(5) == -signal.SIGKILL
        assert before.poll() is None and after.poll() is None
        assert os.environ[watchdog.MARK] == "outer"
    finally:
        for process in (before, within, after):
            process.kill()
            process.wait()


BESIDE_A_CLUSTER = """
import os, subprocess
from pathlib import Path

# what `ray start` leaves when it is killed
address = Path(os.environ["RAY_TMPDIR"], "ray", "ray_current_cluster")
address.parent.mkdir()
address.write_text("127.0.0.1:9")
server = subprocess.Popen(["sleep", "1000"])
from flows.ray_session import ray_session

try:
    with ray_session():
        import ray
        print(ray.get_runtime_context().gcs_address == "127.0.0.1:9", server.poll(), flush=True)
    print(server.poll(), flush=True)
finally:
    server.kill()
"""


def test_a_session_joins_no_cluster_that_it_was_not_told_of_and_ends_no_other_server() -> None:
    with tempfile.TemporaryDirectory() as folder:  # one of pytest's is too long for Ray's sockets
        environment = {**os.environ, "RAY_TMPDIR": folder}
        environment.pop("RAY_ADDRESS", None)
        program = [sys.executable, "-c", BESIDE_A_CLUSTER]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False None\nNone\n"), done.stderr


def test_many_hosts_are_no_reason_for_a_warning() -> None:
    """Ray told of them on standard output; of other things it tells still."""
    skipped = re.compile(_ENVIRONMENT["RAY_DEDUP_LOGS_SKIP_REGEX"])
    assert skipped.search("WARNING: 9 PYTHON worker processes have been started on node: 8f with address: 1")
    assert not skipped.search("A worker died or was killed while executing a task by an unexpected error.")
