"""One process, two servers one after the other, a flow on each; the second is killed with events unsent."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from flows import prefect_process, prefect_server
from flows.prefect_server import PrefectServer
from tests.prefect_server import client_of_flows

prefect_server.DELIVER_SECONDS = 2.0
prefect_process.RESTARTS = 0


def first(home: Path) -> None:
    with prefect_server.prefect_server(home):
        client_of_flows.play()


def second(home: Path) -> None:
    server = PrefectServer.start(home)
    server.wait_ready()
    client_of_flows.play()
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    client_of_flows.emit_events()
    server.stop()


if __name__ == "__main__":
    assert "prefect" not in sys.modules
    first(Path(sys.argv[1], "first"))
    second(Path(sys.argv[1], "second"))
    print(time.time())
