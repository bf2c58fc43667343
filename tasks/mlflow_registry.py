"""Which MLflow runs belong to a sweep of the lake: one small JSON file, so that a resumed sweep finds them.

It may be deleted: the runs carry the lake's token as a tag and are found by it.
"""

from __future__ import annotations

import fcntl
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from knowledge_store.lake.disk import make_folder, place
from ocm.errors import OrchestrationError


@dataclass(frozen=True, slots=True)
class Registry:
    """The runs of one sweep on one MLflow server."""

    uri: str
    """Without a password."""
    experiment: str
    lake: str
    """A token of this sweep's own, the same on every server."""
    parent: str | None = None
    """Run id."""
    chains: Mapping[str, str] = field(default_factory=dict)
    """Chain id -> run id."""

    def on(self, uri: str, experiment: str) -> Registry:
        """This registry, without runs when they are of another server or experiment."""
        if (uri, experiment) == (self.uri, self.experiment):
            return self
        return Registry(uri, experiment, self.lake)

    def with_parent(self, run: str) -> Registry:
        return replace(self, parent=run)

    def with_chain(self, chain: str, run: str) -> Registry:
        return replace(self, chains={**self.chains, chain: run})


def read(path: Path, uri: str, experiment: str) -> Registry:
    """The registry in ``path`` for this server and experiment; a new one if there is none.

    Raises:
        OrchestrationError: the file is damaged.
    """
    if not path.exists():
        return Registry(uri, experiment, uuid.uuid4().hex)
    try:
        return Registry(**json.loads(path.read_bytes())).on(uri, experiment)
    except (ValueError, TypeError) as error:
        raise OrchestrationError(f"{path}: damaged ({error}); delete it, it will be made again") from error


def update(path: Path, uri: str, experiment: str, change: Callable[[Registry], Registry]) -> Registry:
    """Change the registry in one step, whichever other process does so too."""
    make_folder(path.parent)
    with locked(path.with_suffix(".lock")):
        changed = change(read(path, uri, experiment))
        place(path, json.dumps(asdict(changed), indent=1).encode())
    return changed


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file; the kernel gives it back however this process ends."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
