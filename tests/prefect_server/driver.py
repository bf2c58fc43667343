"""A driver that starts a server and then waits to be killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from flows.prefect_server import PrefectServer

if __name__ == "__main__":
    server = PrefectServer.start(Path(sys.argv[1]))
    if sys.argv[2] == "ready":
        server.wait_ready()
    assert server.process is not None
    print(server.process.pid, flush=True)
    time.sleep(600)
