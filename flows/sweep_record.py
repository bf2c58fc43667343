"""A sweep's own record in the lake, and the lock that lets one run at a time write to it."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from flows.planning import Plan
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.root import open_for_writing
from ocm.errors import StorageError


@contextmanager
def holding(root: Path, sweep: str) -> Iterator[None]:
    """Hold the sweep's lock; the kernel gives it back however this process ends.

    Raises:
        StorageError: another run of the sweep holds it, or the root is not writable.
    """
    open_for_writing(root)
    path = root / sweep / "lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; choose another storage root") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(f"{path}: {_holder(path)}; wait for it to end, or stop it") from None
        handle.truncate(0)
        handle.write(json.dumps({"pid": os.getpid(), "since": time.time()}))
        handle.flush()
        yield


def _holder(path: Path) -> str:
    try:
        held = json.loads(path.read_text("utf-8"))
        minutes = (time.time() - held["since"]) / 60
    except (OSError, ValueError, KeyError, TypeError):
        return "another run of this sweep is under way"
    return f"process {held['pid']} has been running this sweep for {minutes:.0f} minutes"


def record_sweep(root: Path, plan: Plan) -> None:
    """Write the sweep's manifest: the spec, and the chains with the episodes planned of each.

    Raises:
        StorageError: the root is not writable or holds a lake of another schema.
    """
    chains = [PlannedChain(chain.id, chain.key, len(chain.tasks), chain.strata) for chain in plan.chains]
    versions = {"ocm": version("ocm-at-scale"), "python": platform.python_version()}
    write_manifest(root, plan.spec.name, plan.spec.model_dump(mode="json"), chains, versions)
