"""``lake.json``: which schema a storage root has. Any other than ours is refused, with a way out."""

from __future__ import annotations

import time
from pathlib import Path

from knowledge_store.lake import disk
from knowledge_store.lake.paths import lake_file
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.errors import StorageError

_MEND = f'restore it, or write {{"schema": {SCHEMA_VERSION}}} into it'


def open_for_writing(root: Path) -> None:
    """Make the root and its ``lake.json`` if they are missing; check the schema.

    Raises:
        StorageError: the root is not writable, or of another schema than ours.
    """
    disk.make_folder(root)
    if not lake_file(root).exists():
        disk.place_once(
            lake_file(root), disk.json_bytes({"schema": SCHEMA_VERSION, "created_at": time.time()})
        )
    open_for_reading(root)


def open_for_reading(root: Path) -> None:
    """Check the root's schema; an empty or missing root has ours.

    Raises:
        StorageError: the schema is not ours, or ``lake.json`` is damaged.
    """
    path = lake_file(root)
    if not path.exists():
        return
    found = disk.parse_json(path, disk.read_bytes(path, _MEND), _MEND).get("schema")
    if not isinstance(found, int):
        raise StorageError(f"{path}: schema is {found!r}, not a number; {_MEND}")
    if found > SCHEMA_VERSION:
        raise StorageError(
            f"{path}: schema {found} is newer than this program's ({SCHEMA_VERSION});"
            " upgrade the program, or give another storage root"
        )
    if found < SCHEMA_VERSION:
        raise StorageError(
            f"{path}: schema {found} is older than this program's ({SCHEMA_VERSION}), which has columns that"
            " cannot be filled in afterwards; read it with the version of the program that wrote it, or play"
            " the sweep again in another storage root"
        )
