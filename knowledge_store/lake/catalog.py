"""The ``chains`` and ``sweeps`` tables: identities and manifests as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.commits import RESTORE
from knowledge_store.lake.files import ChainFiles
from knowledge_store.lake.manifest import Manifest, read_manifest
from knowledge_store.lake.paths import ChainPaths, manifest_file
from ocm.identity import canonical_json
from ocm.types import ChainKey

CHAINS = pa.schema(
    [
        ("sweep", pa.string()),
        ("chain", pa.string()),
        ("method", pa.string()),
        ("agent", pa.string()),
        ("environment", pa.string()),
        ("task_set", pa.string()),
        ("task_order", pa.string()),
        ("backbone", pa.string()),
        ("seed", pa.int64()),
        ("key", pa.string()),
        ("planned", pa.int32()),
        ("done", pa.int32()),
        ("compacted", pa.int32()),
    ]
)
"""``planned`` is NULL for a chain that the manifest no longer names."""

SWEEPS = pa.schema(
    [
        ("sweep", pa.string()),
        ("spec", pa.string()),
        ("spec_sha256", pa.string()),
        ("chains", pa.int32()),
        ("episodes", pa.int32()),
        ("versions", pa.map_(pa.string(), pa.string())),
        ("created_at", pa.float64()),
        ("updated_at", pa.float64()),
    ]
)


_KEY = TypeAdapter(ChainKey)


def read_key(paths: ChainPaths) -> ChainKey:
    """A chain's key from its identity file.

    Raises:
        StorageError: the file is missing or damaged.
    """
    data = disk.read_bytes(paths.identity, RESTORE)
    fields = disk.parse_json(paths.identity, data, RESTORE)
    return disk.decode(_KEY, paths.identity, fields.get("key"), RESTORE)


def chain_rows(root: Path, places: Sequence[ChainPaths], files: Sequence[ChainFiles]) -> pa.Table:
    """One row per chain that has begun."""
    planned = {
        (manifest.sweep, one.chain): one.episodes
        for manifest in _manifests(root, sorted({place.sweep for place in places}))
        for one in manifest.chains
    }
    rows = [
        _chain_row(place, known, planned.get((place.sweep, place.chain)))
        for place, known in zip(places, files, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=CHAINS)


def sweep_rows(root: Path, names: Sequence[str]) -> pa.Table:
    """One row per sweep that has a manifest."""
    return pa.Table.from_pylist([_sweep_row(one) for one in _manifests(root, names)], schema=SWEEPS)


def _manifests(root: Path, names: Sequence[str]) -> list[Manifest]:
    return [read_manifest(root, name) for name in names if manifest_file(root, name).exists()]


def _chain_row(place: ChainPaths, files: ChainFiles, planned: int | None) -> dict[str, Any]:
    key = read_key(place)
    return {
        "sweep": place.sweep,
        "chain": place.chain,
        "method": key.method,
        "agent": key.agent,
        "environment": key.environment,
        "task_set": key.task_set,
        "task_order": key.order,
        "backbone": key.backbone,
        "seed": key.seed,
        "key": canonical_json(asdict(key)),
        "planned": planned,
        "done": files.done,
        "compacted": files.compacted,
    }


def _sweep_row(manifest: Manifest) -> dict[str, Any]:
    return {
        "sweep": manifest.sweep,
        "spec": canonical_json(manifest.spec),
        "spec_sha256": manifest.spec_sha256,
        "chains": len(manifest.chains),
        "episodes": sum(one.episodes for one in manifest.chains),
        "versions": list(manifest.versions.items()),
        "created_at": manifest.created_at,
        "updated_at": manifest.updated_at,
    }
