"""Flat tables are made in a process beside the driver: what DuckDB takes for them would stay with it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from knowledge_store.lake.paths import ChainPaths
from ocm.errors import StorageError
from ocm.redaction import without_secrets

COMMAND = [sys.executable, "-P", "-m", "knowledge_store.lake.compact"]


class Compactor:
    """One process for all chains, started for the first. It compacts one at a time, all of whose rows are in
    memory meanwhile, and ends with the driver, however that ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._turn = asyncio.Lock()

    async def compact(self, paths: ChainPaths) -> None:
        """As :func:`knowledge_store.lake.compact.compact`.

        Raises:
            StorageError: an episode file is unreadable, the disk refuses, or the process was killed.
        """
        async with self._turn:
            await asyncio.to_thread(self._ask, paths)

    async def close(self) -> None:
        """End the process."""
        async with self._turn:
            if self._process is not None:
                await asyncio.to_thread(self._process.communicate)

    def _ask(self, paths: ChainPaths) -> None:
        if self._process is None or self._process.poll() is not None:
            self._process = _start()
        request, answers = self._process.stdin, self._process.stdout
        assert request is not None and answers is not None
        try:
            request.write(json.dumps([str(paths.root), paths.sweep, paths.chain]) + "\n")
            request.flush()
            answer = answers.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self._process.wait()
            raise StorageError(
                f"{paths.folder}: the process that compacts has ended with exit code {code}; "
                "give the same command again, if memory was short with fewer chains at once",
                path=str(paths.folder),
            )
        if failure := json.loads(answer):
            raise StorageError(**failure)


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=without_secrets(os.environ),
        start_new_session=True,  # Ctrl-C is for the driver
    )
