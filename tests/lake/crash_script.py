"""Kills writers at chosen and at random moments; run as a program by ``test_lake_crash.py``.

It imports everything once and forks a child per kill, so that a kill costs milliseconds. Each part
prints one JSON line. Usage: ``crash_script.py boundaries|sigkill FOLDER``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from knowledge_store.lake import reader
from knowledge_store.lake.record import to_table
from knowledge_store.lake.restore import from_table
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import chain_id
from ocm.types import Episode
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
CHAIN = chain_id(KEY)
KILLED = 77
SYSCALLS = ("fsync", "replace", "link", "unlink", "mkdir")


def open_writer(root: Path) -> ChainWriter:
    return ChainWriter(root, "demo", CHAIN, KEY)


def in_child(work: Callable[[], None]) -> int:
    """Run in a forked child; its exit status, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def play(root: Path, episodes: list[Episode]) -> None:
    """Go on where the chain stands."""
    writer = open_writer(root)
    for episode in episodes[writer.resume().next_index :]:
        writer.commit(episode)


def die_at(boundary: int, after: bool) -> None:
    """Let the process end right before (or after) its n-th system call of :data:`SYSCALLS`."""
    count = 0

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == boundary and not after:
                os._exit(KILLED)
            last = count == boundary
            try:
                return real(*args, **options)
            finally:
                if last:
                    os._exit(KILLED)

        return call

    for name in SYSCALLS:
        setattr(os, name, dying(getattr(os, name)))


def doomed(root: Path, episodes: list[Episode], boundary: int, after: bool) -> None:
    """Play until the given system call ends the process."""
    die_at(boundary, after)
    play(root, episodes)


def check(root: Path, episodes: list[Episode]) -> None:
    """Resume, finish, and compare everything with what was meant; a failure ends with status 1."""
    before = open_writer(root).resume().next_index
    play(root, episodes)
    assert reader.verify_chain(root, "demo", CHAIN) == len(episodes)
    for episode in episodes:
        assert reader.load_episode(root, "demo", CHAIN, episode.index) == episode
    assert not list((root / "demo").rglob("*.parquet.tmp"))
    os.write(1, f"{before}\n".encode())


def boundaries(folder: Path) -> None:
    """Every boundary of making a chain and committing two episodes, until no more are reached."""
    episodes = list(fake_chain(KEY, 2, steps=2))
    kills, boundary, alive = 0, 0, False
    while not alive:
        boundary += 1
        for after in (False, True):
            root = folder / f"{boundary}-{after}"

            status = in_child(partial(doomed, root, episodes, boundary, after))
            alive = status == 0
            assert status in (0, KILLED), status
            kills += status == KILLED
            assert in_child(partial(check, root, episodes)) == 0, root
    print(json.dumps({"boundaries": boundary - 1, "kills": kills}))


def sigkill(folder: Path) -> None:
    """SIGKILL at random moments, the same command again each time, until the chain is finished."""
    episodes = list(fake_chain(KEY, 60, steps=3))
    draw = random.Random(7)
    kills, status = 0, -1
    while status != 0:
        child = os.fork()
        if child == 0:
            play(folder, episodes)
            os._exit(0)
        time.sleep(draw.uniform(0.03, 0.15))
        os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), status
        kills += status != 0
    assert in_child(partial(check, folder, episodes)) == 0
    print(json.dumps({"kills": kills}))


if __name__ == "__main__":
    from_table(to_table(next(fake_chain(KEY, 1))))  # what pyarrow loads at first use takes 0.4 s
    {"boundaries": boundaries, "sigkill": sigkill}[sys.argv[1]](Path(sys.argv[2]))
