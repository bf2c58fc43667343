"""A real server of our own, what happens when things go wrong, and a server of somebody else."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from flows import prefect_database, prefect_process
from flows.attached import attached
from flows.prefect_database import template
from flows.prefect_server import PrefectServer, prefect_server
from ocm.errors import OrchestrationError

PROFILES = 'active = "mine"\n[profiles.mine]\nPREFECT_API_URL = "http://127.0.0.1:9/api"\n'


@pytest.fixture(autouse=True)
def no_server_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home folder with a profile that leads nowhere."""
    folder = tmp_path_factory.mktemp("user")
    (folder / ".prefect").mkdir()
    (folder / ".prefect" / "profiles.toml").write_text(PROFILES)
    return folder


def alive(pid: int) -> bool:
    try:
        return f"{Path(f'/proc/{pid}/stat').read_text()} ".split(") ")[1][0] != "Z"
    except OSError:
        return False


def gone(pid: int, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(") ")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


def test_a_server_of_our_own(tmp_path: Path, of_the_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_PROFILE", "mine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("~/.cache").expanduser()))  # spares the migrations
    monkeypatch.setenv("HOME", str(of_the_user))
    before = dict(os.environ)
    server = PrefectServer.start(tmp_path / "home")
    assert server.process is not None
    try:
        server.wait_ready()
        assert os.environ["PREFECT_API_URL"] == server.url
        assert "PREFECT_PROFILE" not in os.environ
        assert children(server.process.pid) == []
        assert os.getpgid(server.process.pid) != os.getpgid(0), "Ctrl-C must not reach the server"
        with urllib.request.urlopen(f"{server.url}/ui-settings".replace("/api/", "/")) as answer:
            assert server.url.encode() in answer.read(), "the web pages must find the API"
        with pytest.raises(OrchestrationError, match="another process has its Prefect server there"):
            monkeypatch.delenv("PREFECT_API_URL")
            PrefectServer.start(tmp_path / "home")
        monkeypatch.setenv("PREFECT_API_URL", server.url)
    finally:
        server.stop()
    assert gone(server.process.pid, 0)
    assert dict(os.environ) == before
    assert (of_the_user / ".prefect" / "profiles.toml").read_text() == PROFILES
    assert [path.name for path in (of_the_user / ".prefect").iterdir()] == ["profiles.toml"]
    assert (tmp_path / "home" / "server.log").read_text() == ""
    server.stop()


@pytest.mark.parametrize("when", ["starting", "ready"])
def test_a_killed_driver_leaves_nothing_behind(tmp_path: Path, when: str) -> None:
    command = [sys.executable, "-m", "tests.prefect_server.driver", str(tmp_path / "home"), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        server = int(driver.stdout.readline())
        assert alive(server)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        assert gone(server)
    assert prefect_database.unready(tmp_path / "home") is (when == "starting")


def test_a_server_that_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "prefect.db").write_text("this is no database" * 100)
    server = PrefectServer.start(tmp_path)
    try:
        with pytest.raises(OrchestrationError, match="ended with code") as caught:
            server.wait_ready()
        assert "file is not a database" in str(caught.value)
        assert str(tmp_path / "server.log") in str(caught.value)
    finally:
        server.stop()


def test_a_server_that_takes_too_long(tmp_path: Path) -> None:
    server = PrefectServer.start(tmp_path)
    try:
        with pytest.raises(OrchestrationError, match="did not answer within 0 s"):
            server.wait_ready(0.2)
    finally:
        server.stop()
    assert server.process is not None
    assert not alive(server.process.pid)


def answered(url: str, seconds: float = 60.0) -> bool:
    """Whether it answers within so many seconds, however long it is silent before."""
    with urllib.request.urlopen(f"{url}/health", timeout=seconds) as answer:
        return bool(answer.status == 200)


def test_a_server_that_is_killed_comes_back_on_its_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question that comes while it is dead waits for the answer of the next one."""
    monkeypatch.setattr(prefect_process, "RESTARTS", 1)
    told: list[str] = []
    server = PrefectServer.start(tmp_path)
    try:
        server.wait_ready(told=told.append)
        first = server.process
        assert first is not None
        first.kill()
        first.wait()
        assert answered(server.url)
        second = server.process
        assert second is not None and second.pid != first.pid
        assert os.environ["PREFECT_API_URL"] == server.url
        second.kill()
        with pytest.raises(OSError, match=r"refused|reset|closed|disconnected|without response"):
            while time.sleep(0.05) is None:
                answered(server.url, 5.0)
    finally:
        server.stop()
    assert [text.split(";")[0] for text in told[:1]] == ["the Prefect server ended with code -9"]
    assert "left alone" in told[1] and len(told) == 2
    assert gone(second.pid, 0)


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OrchestrationError, match="choose another storage root"):
        PrefectServer.start(tmp_path / "file" / "home")


def test_flows_of_one_process_on_servers_one_after_the_other(tmp_path: Path, of_the_user: Path) -> None:
    """What runs did is on the server when it stops, and a dead server does not hold up the exit."""
    home = {"HOME": str(of_the_user), "XDG_CACHE_HOME": str(template().parent.parent)}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.prefect_server.two_servers", str(tmp_path)],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    three = "3 ['Completed'] ['Completed', 'Completed', 'Completed']\n"
    assert done.stdout.startswith(three * 2), done.stderr
    assert done.returncode == 0
    assert "did not take the last events" in done.stderr
    ended = float(done.stdout.split()[-1])
    assert time.time() - ended < 20, f"{time.monotonic() - started:.0f} s in all"
    assert [path.name for path in (of_the_user / ".prefect").iterdir()] == ["profiles.toml"]


# --- its database ------------------------------------------------------------------------------


def test_half_migrated_databases_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "template.db"
    monkeypatch.setattr(prefect_database, "template", lambda: kept)
    home = tmp_path / "home"
    home.mkdir()
    prefect_database.seed(home)
    assert not (home / "prefect.db").exists()
    (home / "prefect.db").write_text("half")
    (home / "prefect.db-wal").write_text("half")
    kept.write_text("whole")
    prefect_database.seed(home)
    assert (home / "prefect.db").read_text() == "whole"
    assert not (home / "prefect.db-wal").exists()


@pytest.mark.parametrize("fresh", [True, False])
def test_a_fresh_database_is_kept_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    kept = tmp_path / "cache" / "template.db"
    monkeypatch.setattr(prefect_database, "template", lambda: kept)
    if fresh:
        prefect_database.seed(tmp_path)
    with closing(sqlite3.connect(tmp_path / "prefect.db")) as database:
        database.execute("create table flows (id)")
    prefect_database.mark_migrated(tmp_path)
    prefect_database.seed(tmp_path)
    assert (tmp_path / "prefect.db").exists()
    assert kept.exists() is fresh
    if fresh:
        with closing(sqlite3.connect(kept)) as database:
            assert database.execute("select name from sqlite_master").fetchall() == [("flows",)]


# --- a server of somebody else -----------------------------------------------------------------


@contextmanager
def answering(code: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code if self.path == "/api/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api"
        server.shutdown()


@pytest.mark.parametrize("code", [200, 401, 403])
def test_the_server_that_the_user_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    with answering(code) as url:
        monkeypatch.setenv("PREFECT_API_URL", f"{url}/")
        before = dict(os.environ)
        with prefect_server(tmp_path / "home") as used:
            assert used == url
            assert dict(os.environ) == before
    assert not (tmp_path / "home").exists()
    assert dict(os.environ) == before


def test_the_users_server_is_ill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(503) as url:
        monkeypatch.setenv("PREFECT_API_URL", url)
        with (
            pytest.raises(OrchestrationError, match=r"answers 503.*unset PREFECT_API_URL"),
            prefect_server(tmp_path),
        ):
            pass


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "127.0.0.1:4200", "nonsense"])
def test_the_users_server_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    with pytest.raises(OrchestrationError, match="does not answer"), prefect_server(tmp_path):
        pass


# --- attached programs -------------------------------------------------------------------------


def test_an_attached_program_is_the_command_itself() -> None:
    command = attached([sys.executable, "-c", "import os, sys; print(os.getpid()); sys.exit(7)"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate()
    assert (int(out), process.returncode) == (process.pid, 7)


def test_a_program_whose_parent_is_gone_does_not_start() -> None:
    command = attached([sys.executable, "-c", "print('started')"])
    command[4] = "1" if os.getpid() != 1 else "2"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "is not started" in done.stderr
