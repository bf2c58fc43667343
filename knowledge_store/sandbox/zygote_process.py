"""The owner's side of the zygote: start it by exec, speak with it, end it."""

from __future__ import annotations

import json
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ocm.errors import SandboxError

HERE = Path(__file__).resolve().parent
START = "import sys; sys.path.append({here!r}); from jail.zygote import main; main()"
START_SECONDS = 60.0
END_SECONDS = 2.0
LENGTH = struct.Struct("!I")
MESSAGE_LIMIT = 256 << 20


def _start(descriptor: int) -> subprocess.Popen[bytes]:
    """By exec and never by fork: the owner may have threads, keys and open files.

    ``-I`` would ignore ``PYTHONHASHSEED``; these options leave out the same things with the environment
    emptied by hand.
    """
    options = ["-s", "-P", "-S", "-B", "-X", "utf8"]
    try:
        return subprocess.Popen(
            [sys.executable, *options, "-c", START.format(here=str(HERE))],
            stdin=descriptor,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PYTHONHASHSEED": "0"},
            cwd="/",
        )
    except OSError as error:
        raise SandboxError(f"cannot start {sys.executable} ({error.strerror}); is it executable?") from error


class ZygoteProcess:
    """One running zygote. Raises :class:`SandboxError` when it cannot start, answer or keep time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        with theirs:
            self._process = _start(theirs.fileno())
        try:
            self.hello = self.ask(settings, START_SECONDS)
        except SandboxError:
            self.close()
            raise

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a message and wait for the answer."""
        body = json.dumps(message).encode()
        deadline = time.monotonic() + seconds
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(LENGTH.pack(len(body)) + body)
            (length,) = LENGTH.unpack(self._exactly(LENGTH.size, deadline))
            if length > MESSAGE_LIMIT:
                raise SandboxError(f"the sandbox sent {length} bytes at once; report this")
            answer: dict[str, Any] = json.loads(self._exactly(length, deadline))
        except (OSError, EOFError, ValueError) as error:
            raise SandboxError(
                f"the sandbox process {self._state(error)}; verify again to start a new one"
            ) from error
        if "fault" in answer:
            raise SandboxError(f"the sandbox process failed ({answer['fault']}); report this")
        return answer

    def close(self) -> None:
        """Hang up; the zygote and all its children end."""
        self._socket.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def _exactly(self, count: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            part = self._socket.recv(min(1 << 20, count - len(parts)))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def _state(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return "did not answer in time"
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return f"broke off ({type(error).__name__})"
        stderr = self._process.stderr
        said = ""
        if stderr and select.select([stderr], [], [], 0)[0]:
            said = stderr.read(2000).decode(errors="replace").strip()
        return f"ended with status {code}" + (f", saying: {said}" if said else "")
