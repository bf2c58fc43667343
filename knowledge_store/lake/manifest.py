"""``sweep.json``: what a sweep was asked to do. Rewritten as a whole at the start of each run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from knowledge_store.lake import disk, root
from knowledge_store.lake.paths import manifest_file
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.errors import StorageError
from ocm.identity import canonical_json, sha256
from ocm.types import ChainKey

_MEND = "run the sweep again (`ocm run`): it writes the manifest"


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """One of the benchmark's groups of tasks, and how many episodes of it a chain shall play."""

    stratum: str
    episodes: int
    """0 where a limit leaves the stratum out."""


@dataclass(frozen=True, slots=True)
class PlannedChain:
    """One chain of a sweep and the number of episodes that it shall play."""

    chain: str
    key: ChainKey
    episodes: int
    strata: tuple[PlannedStratum, ...] = ()
    """All strata of the task set, in the order of tables; empty in manifests of before they were planned."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands in ``sweep.json``."""

    sweep: str
    spec: Mapping[str, Any]
    """The resolved spec."""
    spec_sha256: str
    chains: tuple[PlannedChain, ...]
    versions: Mapping[str, str]
    created_at: float
    """Seconds since the epoch, UTC: the sweep's first run."""
    updated_at: float


_MANIFEST = TypeAdapter(Manifest)


def write_manifest(
    root_folder: Path,
    sweep: str,
    spec: Mapping[str, Any],
    chains: Sequence[PlannedChain],
    versions: Mapping[str, str],
) -> Manifest:
    """Write a sweep's manifest; the time of its first run is kept.

    Raises:
        StorageError: the lake is of another schema or not writable.
    """
    root.open_for_writing(root_folder)
    path = manifest_file(root_folder, sweep)
    disk.make_folder(path.parent)
    now = time.time()
    created = _first_run(root_folder, sweep) or now
    manifest = Manifest(
        sweep, spec, sha256(canonical_json(spec)), tuple(chains), dict(versions), created, updated_at=now
    )
    disk.place(path, disk.json_bytes({"schema": SCHEMA_VERSION, **asdict(manifest)}))
    return manifest


def _first_run(root_folder: Path, sweep: str) -> float | None:
    """When the sweep was first run; None where that is not known."""
    try:
        return read_manifest(root_folder, sweep).created_at
    except StorageError:  # missing or damaged: to be written anew is the mend that its message names
        return None


def read_manifest(root_folder: Path, sweep: str) -> Manifest:
    """A sweep's manifest.

    Raises:
        StorageError: the sweep has none, it is damaged, or the lake is of another schema.
    """
    root.open_for_reading(root_folder)
    path = manifest_file(root_folder, sweep)
    fields = disk.parse_json(path, disk.read_bytes(path, _MEND), _MEND)
    return disk.decode(_MANIFEST, path, fields, _MEND)
