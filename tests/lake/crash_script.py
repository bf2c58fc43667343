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


def die_at(boundary: int) -> None:
    """Let the process end right before its n-th system call of :data:`SYSCALLS`.

    What the one before it did has then happened, so this is every state that a kill can leave.
    """
    count = 0

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == boundary:
                os._exit(KILLED)
            return real(*args, **options)

        return call

    for name in SYSCALLS:
        setattr(os, name, dying(getattr(os, name)))


def doomed(root: Path, episodes: list[Episode], boundary: int) -> None:
    """Play until the given system call ends the process."""
    die_at(boundary)
    play(root, episodes)


def check(root: Path, episodes: list[Episode]) -> None:
    """Resume, finish, and compare everything with what was meant."""
    play(root, episodes)
    assert reader.verify_chain(root, "demo", CHAIN) == len(episodes)
    for episode in episodes:
        assert reader.load_episode(root, "demo", CHAIN, episode.index) == episode


def boundaries(folder: Path) -> None:
    """Every boundary of making a chain and committing two episodes, until no more are reached."""
    episodes = list(fake_chain(KEY, 2, steps=2))
    status, boundary = KILLED, 0
    while status == KILLED:
        boundary += 1
        root = folder / str(boundary)
        status = in_child(partial(doomed, root, episodes, boundary))
        check(root, episodes)
    assert status == 0, status
    print(json.dumps({"kills": boundary - 1}))


def sigkill(folder: Path) -> None:
    """SIGKILL at random moments, the same command again each time, until the chain is finished."""
    episodes = list(fake_chain(KEY, 40, steps=3))
    draw = random.Random(7)
    kills, status = 0, -1
    while status != 0:
        begun, say = os.pipe()
        child = os.fork()
        if child == 0:
            open_writer(folder)
            os.write(say, b".")
            play(folder, episodes)
            os._exit(0)
        os.read(begun, 1)
        time.sleep(draw.uniform(0.0, 0.05 + 0.01 * kills))  # soon on any machine, and it still ends
        os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL), status
        kills += status != 0
    check(folder, episodes)
    print(json.dumps({"kills": kills}))


if __name__ == "__main__":
    from_table(to_table(next(fake_chain(KEY, 1))))  # what pyarrow loads at first use takes 0.4 s
    {"boundaries": boundaries, "sigkill": sigkill}[sys.argv[1]](Path(sys.argv[2]))
