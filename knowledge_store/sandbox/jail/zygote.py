"""The warm process: imports what model-written code may import, gives up what it can, then forks.

Speaks with its owner over one socket (descriptor 0): a JSON object per message, its length in four
bytes before it. The first message holds the settings, each later one a candidate. When the owner hangs
up, everything here ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

from . import execute
from .batch import Batch
from .channel import Channel
from .layers import Confinement, Record, address_space, enter
from .watch import OwnerGone, Watch

LENGTH = struct.Struct("!I")


def main() -> NoReturn:
    """Serve the owner until it hangs up."""
    os.setsid()
    # An owner that ignores SIGCHLD, as a Ray worker does, hands that down through exec: no child
    # could be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    owner = socket.socket(fileno=os.dup(0))
    try:
        serve(owner)
    except (OwnerGone, BrokenPipeError, ConnectionResetError):
        os._exit(0)
    except Exception as error:  # noqa: BLE001 -- the owner is told of any fault of this process
        send(owner, {"fault": f"{type(error).__name__}: {error}"})
        os._exit(1)


def serve(owner: socket.socket) -> NoReturn:
    """Read the settings, confine this process, say what is in force, and verify candidates."""
    settings = receive(owner)
    preload(settings["allowed"])
    detach_streams()
    size = address_space()
    record = Record(settings["disabled_layers"])
    enter(record)
    channel = Channel(report_limit(settings))
    confinement = Confinement(settings, channel.writer, size)
    confinement.probe(record)
    send(owner, {"layers": record.reasons, "python": sys.version.split()[0], "clones": confinement.can_clone})
    gc.collect()
    gc.freeze()
    watch = Watch(owner, channel)
    while True:
        job = receive(owner)
        procedures = [(path, source) for path, source in job["procedures"]]
        batch = Batch(settings, confinement, channel, watch, job["objects"], procedures)
        objects, outcomes = batch.run()
        send(owner, {"objects": objects, "procedures": outcomes})


def report_limit(settings: dict[str, Any]) -> int:
    """Bytes that a report may have: JSON may need six for a character."""
    return 6 * (int(settings["output_bytes"]) + int(settings["report_chars"])) + 1024


def preload(allowed: list[str]) -> None:
    """Import everything that may be imported: later there are no files. Seed what is random."""
    gc.disable()
    for name in allowed:
        importlib.import_module(name)
    original = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        """As the original, but the same numbers every time where that would ask for chance."""
        original(self, execute.SEED if a is None else a, version)

    random.Random.seed = seed  # type: ignore[method-assign]  # there is no other way to reach Random()
    random.seed = random.Random.seed.__get__(random.seed.__self__)  # type: ignore[attr-defined]
    random.seed(execute.SEED)


def detach_streams() -> None:
    """Nothing of the owner's is left but the socket."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    sys.stdin = None
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def send(owner: socket.socket, message: dict[str, Any]) -> None:
    """One framed JSON object."""
    body = json.dumps(message).encode()
    owner.sendall(LENGTH.pack(len(body)) + body)


def receive(owner: socket.socket) -> dict[str, Any]:
    """The next framed JSON object; raises ``OwnerGone`` at the end."""
    (length,) = LENGTH.unpack(_exactly(owner, LENGTH.size))
    message: dict[str, Any] = json.loads(_exactly(owner, length))
    return message


def _exactly(owner: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = owner.recv(count - len(parts))
        if not part:
            raise OwnerGone
        parts += part
    return bytes(parts)
