"""Leases: one writer at a time, whoever died, wherever."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_store.lake import holders, lease
from knowledge_store.lake.holders import holders_folder, present, process_start
from knowledge_store.lake.lease import held_by, holding, latest
from ocm.errors import LeaseError, StorageError

HOLD = """
import sys, time
from pathlib import Path
from knowledge_store.lake.lease import holding
with holding(Path(sys.argv[1]), Path(sys.argv[1]) / "sweep", "this sweep"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def another(root: Path, seconds: float = 600) -> subprocess.Popen[str]:
    """A process that holds the sweep's lease."""
    command = [sys.executable, "-c", HOLD, str(root), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("lease-*"))


def test_a_living_holder_is_named_with_its_age(tmp_path: Path) -> None:
    process = another(tmp_path)
    expected = rf"process {process.pid} of .+ on .+ has been playing this sweep for 0 minutes"
    with pytest.raises(LeaseError, match=expected), holding(tmp_path, tmp_path / "sweep", "this sweep"):
        pass
    holder = held_by(tmp_path, tmp_path / "sweep")
    assert holder is not None and holder.pid == process.pid
    process.kill()
    process.wait()
    assert held_by(tmp_path, tmp_path / "sweep") is None


def test_the_lease_of_a_killed_process_is_taken_over_at_once(tmp_path: Path) -> None:
    process = another(tmp_path)
    process.kill()
    process.wait()
    with holding(tmp_path, tmp_path / "sweep", "this sweep") as held:
        assert held.path.name == "lease-00002.json"
        held.check()
    assert numbers(tmp_path / "sweep") == ["lease-00002.json"]
    assert list(holders_folder(tmp_path).iterdir()) == []


def test_one_that_waits_goes_on_when_the_other_has_ended(tmp_path: Path) -> None:
    process = another(tmp_path, 1.0)
    told: list[str] = []
    with holding(tmp_path, tmp_path / "sweep", "this sweep", wait=True, tell=told.append):
        assert process.wait(10) == 0
    assert len(told) == 1 and "waiting for it to end" in told[0]


def test_given_back_and_taken_again_numbers_never_come_twice(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with holding(tmp_path, tmp_path / "sweep", "this sweep") as held:
            assert held.path.name == f"lease-{number:05d}.json"
        assert numbers(tmp_path / "sweep") == [f"lease-{number:05d}.json"]


def test_the_same_process_does_not_hold_it_twice(tmp_path: Path) -> None:
    with (
        holding(tmp_path, tmp_path / "sweep", "this sweep"),
        pytest.raises(LeaseError),
        holding(tmp_path, tmp_path / "sweep", "this sweep"),
    ):
        pass


def test_of_many_that_race_for_a_dead_holders_lease_one_gets_it(tmp_path: Path) -> None:
    process = another(tmp_path)
    process.kill()
    process.wait()
    begin, won = threading.Barrier(8), []
    done = threading.Event()

    def run() -> None:
        begin.wait()
        try:
            with holding(tmp_path, tmp_path / "sweep", "this sweep") as held:
                won.append(held)
                done.wait(5)
        except LeaseError:
            pass

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 5
    while sum(thread.is_alive() for thread in threads) > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def elsewhere(root: Path) -> Path:
    """The lease and the count of a holder on another machine; the path of its count."""
    with holding(root, root / "sweep", "this sweep") as held:
        holder = replace(held.holder, machine="another", host="far", id="abc", pid=1)
        folder = holders_folder(root)
    fields = json.loads(held.path.read_text())
    fields |= {"given_back": False, "holder": {**fields["holder"], "machine": "another", "id": "abc"}}
    held.path.write_text(json.dumps(fields))
    count = folder / "abc.json"
    count.write_text(json.dumps(holder.__class__.__name__) + "\n000000000001\n")
    return count


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "SILENCE", 0.5)
    monkeypatch.setattr(holders, "LOOK", 0.02)


@pytest.mark.usefixtures("hurried")
def test_a_silent_holder_on_another_machine_is_taken_over(tmp_path: Path) -> None:
    elsewhere(tmp_path)
    told: list[str] = []
    started = time.monotonic()
    with holding(tmp_path, tmp_path / "sweep", "this sweep", tell=told.append):
        assert time.monotonic() - started >= 0.5
    assert "whether" in told[0]


@pytest.mark.usefixtures("hurried")
def test_one_that_counts_is_alive_whatever_the_clocks_say(tmp_path: Path) -> None:
    count = elsewhere(tmp_path)
    timer = threading.Timer(0.2, lambda: count.write_text("x\n000000000002\n"))
    timer.start()
    with pytest.raises(LeaseError), holding(tmp_path, tmp_path / "sweep", "this sweep"):
        pass
    timer.join()


@pytest.mark.usefixtures("hurried")
def test_a_holder_elsewhere_that_is_gone_for_good_is_taken_over_at_once(tmp_path: Path) -> None:
    elsewhere(tmp_path).unlink()
    started = time.monotonic()
    with holding(tmp_path, tmp_path / "sweep", "this sweep"):
        assert time.monotonic() - started < 0.4


def test_who_was_taken_for_dead_notices(tmp_path: Path) -> None:
    with holding(tmp_path, tmp_path / "sweep", "this sweep") as held:
        held.check()
        taker = held.path.with_name("lease-00002.json")
        taker.write_bytes(held.path.read_bytes())
        with pytest.raises(LeaseError, match="taken over by process"):
            held.check()
    assert not json.loads(taker.read_text())["given_back"], "another's lease is not given back"


def test_a_process_counts_while_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "BEAT", 0.01)
    with present(tmp_path) as holder, present(tmp_path) as same:
        assert holder is same
        path = holders_folder(tmp_path) / f"{holder.id}.json"
        deadline = time.monotonic() + 5
        while path.read_text().endswith("000000000000\n"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert not path.exists()


def test_a_damaged_lease_is_named(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "lease-00001.json").write_text("{")
    with pytest.raises(StorageError, match=r"lease-00001.json: damaged"):
        latest(tmp_path / "sweep")


def test_a_process_number_that_is_used_again_is_another_process() -> None:
    assert process_start(os.getpid()) == process_start(os.getpid())
    assert process_start(1) != process_start(os.getpid())
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert process_start(gone.pid) is None


def test_who_looked_before_two_others_came_and_went_does_not_hold_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sweep"
    with holding(tmp_path, folder, "this sweep"):
        pass
    looked = [latest(folder)]  # number 1, given back
    for _ in range(2):  # number 2 comes and is removed by number 3
        with holding(tmp_path, folder, "this sweep"):
            pass
    monkeypatch.setattr(lease, "latest", lambda at: looked.pop() if looked else latest(at))
    with holding(tmp_path, folder, "this sweep") as held:
        assert held.path.name == "lease-00004.json"
        held.check()
    assert numbers(folder) == ["lease-00004.json"]


def test_what_cannot_be_removed_or_read_in_the_folder_of_holders_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process = another(tmp_path)
    process.kill()
    process.wait()
    (holders_folder(tmp_path) / "folder.json").mkdir()
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.parent == holders_folder(tmp_path):
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    with holding(tmp_path, tmp_path / "sweep", "this sweep") as held:
        held.check()
    assert "could not be removed: Read-only file system" in caplog.text


def test_a_count_that_cannot_be_read_is_an_error_with_a_mend(tmp_path: Path) -> None:
    count = elsewhere(tmp_path)
    count.unlink()
    count.mkdir()
    with pytest.raises(StorageError, match="Is a directory"):
        held_by(tmp_path, tmp_path / "sweep")
