"""The report channel: one message per process, its sender attested by the kernel.

A child writes to a socket that all share. Who wrote a message is not what the message says but what
the kernel adds to it (``SCM_CREDENTIALS``), so a procedure cannot report for another. Where the kernel
cannot do that (not Linux: tier D), the sender's word has to do.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

CREDENTIALS = struct.Struct("iII")
ATTESTED = hasattr(socket, "SO_PASSCRED")


class Message(NamedTuple):
    sender: int
    """Process id."""
    body: bytes


class Channel:
    """The zygote's end, and the descriptor that its descendants write to."""

    def __init__(self, limit: int) -> None:
        kind = socket.SOCK_SEQPACKET if ATTESTED else socket.SOCK_DGRAM
        self._receiver, self._sender = socket.socketpair(socket.AF_UNIX, kind)
        self._receiver.setblocking(False)
        self._limit = limit
        for end in (self._receiver, self._sender):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * limit)
        if ATTESTED:
            self._receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    @property
    def writer(self) -> int:
        """Descriptor for the children."""
        return self._sender.fileno()

    def fileno(self) -> int:
        return self._receiver.fileno()

    def receive(self) -> Iterator[Message]:
        """All messages that are waiting. An oversized one is cut, so it will not parse as a report."""
        while True:
            try:
                body, ancillary, _, _ = self._receiver.recvmsg(
                    self._limit, socket.CMSG_SPACE(CREDENTIALS.size)
                )
            except BlockingIOError:
                return
            yield Message(*_sender(body, ancillary))


def send(descriptor: int, message: bytes) -> None:
    """Write one message; where the kernel does not attest the sender, its id goes in front."""
    os.write(descriptor, message if ATTESTED else b"%d " % os.getpid() + message)


def _sender(body: bytes, ancillary: list[tuple[int, int, bytes]]) -> tuple[int, bytes]:
    if not ATTESTED:
        claimed, _, rest = body.partition(b" ")
        return int(claimed) if claimed.isdigit() else 0, rest
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return CREDENTIALS.unpack(data[: CREDENTIALS.size])[0], body
    return 0, body
