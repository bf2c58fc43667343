"""``lake.json``: which schema a storage root has. A newer one is refused, an older one is read."""

from __future__ import annotations

import time
from pathlib import Path

from knowledge_store.lake import disk
from knowledge_store.lake.paths import lake_file
from knowledge_store.lake.schema import SCHEMA_VERSION
from ocm.errors import StorageError

_MEND = 'restore it, or write {"schema": 1} into it'


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
    found = open_for_reading(root)
    if found < SCHEMA_VERSION:
        raise StorageError(
            f"{lake_file(root)}: schema {found} is older than ours ({SCHEMA_VERSION}) and can only be read;"
            " give another storage root"
        )


def open_for_reading(root: Path) -> int:
    """The root's schema version; an empty or missing root has ours.

    Raises:
        StorageError: the schema is newer than ours, or ``lake.json`` is damaged.
    """
    path = lake_file(root)
    if not path.exists():
        return SCHEMA_VERSION
    found = disk.parse_json(path, disk.read_bytes(path, _MEND), _MEND).get("schema")
    if not isinstance(found, int):
        raise StorageError(f"{path}: schema is {found!r}, not a number; {_MEND}")
    if found > SCHEMA_VERSION:
        raise StorageError(
            f"{path}: schema {found} is newer than this program's ({SCHEMA_VERSION});"
            " upgrade the program, or give another storage root"
        )
    return found
