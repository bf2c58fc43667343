"""``lake.json`` and ``sweep.json``. Pure functions of bytes."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter

from knowledge_store.lake import disk
from knowledge_store.lake.checking.findings import (
    RERUN,
    Finding,
    Kind,
    damage,
    repairable_damage,
)
from knowledge_store.lake.checking.records import SchemaOther, as_record
from knowledge_store.lake.checking.source import Unreadable
from knowledge_store.lake.manifest import Manifest
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.identity import canonical_json, chain_id, sha256

_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)
_AGAIN = f"{RERUN}: it writes the manifest"
LAKE = "lake.json"


def check_lake_file(data: bytes | Unreadable | None) -> tuple[bool, list[Finding]]:
    """Whether the lake may be of our schema, and what is wrong with ``lake.json``."""
    if data is None:
        return True, [repairable_damage(Kind.LAKE_MISSING, LAKE, "missing")]
    try:
        schema = _schema(data)
    except ValueError as error:
        return True, [repairable_damage(Kind.LAKE_DAMAGED, LAKE, f"damaged ({error})")]
    if schema == SCHEMA_VERSION:
        return True, []
    older = "read it with the version of the program that wrote it"
    mend = older if schema < SCHEMA_VERSION else "upgrade the program"
    what = f"the lake is of schema {schema}, this program's is {SCHEMA_VERSION}; nothing else was checked"
    return False, [damage(Kind.SCHEMA_OTHER, LAKE, what, mend)]


def _schema(data: bytes | Unreadable) -> int:
    if isinstance(data, Unreadable):
        raise ValueError(f"cannot be read: {data.reason}")
    schema = disk.json_object(data).get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise ValueError(f"schema is {str(schema)[:40]}, not a number")
    return schema


def check_manifest(sweep: str, data: bytes | Unreadable | None) -> tuple[Manifest | None, list[Finding]]:
    """A sweep's manifest, None where it cannot be used, and what is wrong with it."""
    path = f"{sweep}/sweep.json"
    if data is None:
        return None, [damage(Kind.MANIFEST_MISSING, path, "missing", _AGAIN)]
    try:
        _, manifest = as_record(_MANIFEST, data)
    except SchemaOther as other:
        return None, [damage(Kind.SCHEMA_OTHER, path, str(other), _AGAIN)]
    except ValueError as error:
        mend = f"move it away and {_AGAIN}"
        return None, [damage(Kind.MANIFEST_DAMAGED, path, f"damaged ({error})", mend)]
    return manifest, [
        *(damage(Kind.MANIFEST_DAMAGED, path, what, _AGAIN) for what in _wrong(sweep, manifest)),
        *(
            damage(Kind.MANIFEST_CHAIN, path, f"{one.chain} has the key of {chain_id(one.key)}", _AGAIN)
            for one in manifest.chains
            if chain_id(one.key) != one.chain
        ),
    ]


def _wrong(sweep: str, manifest: Manifest) -> Iterable[str]:
    if manifest.sweep != sweep:
        yield f"is the manifest of {manifest.sweep}"
    if sha256(canonical_json(manifest.spec)) != manifest.spec_sha256:
        yield "its spec does not have the hash that it was written with"
