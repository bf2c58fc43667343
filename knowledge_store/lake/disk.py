"""Durable file operations: the only place of the lake that writes.

A file is written aside under a temporary name, flushed to the disk (``fsync``), and only then given
its name, by rename (:func:`place`) or by link (:func:`place_once`, which never overwrites); then the
folder is flushed too, so that the name itself survives a power cut. After a failure nothing
half-written keeps a real name, and the temporary file is removed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from ocm.errors import StorageError

T = TypeVar("T")

_MENDS = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space, or raise the quota",
    errno.EFBIG: "raise the file size limit",
    errno.EACCES: "make the folder writable",
    errno.EROFS: "make the file system writable",
    errno.EPERM: "use a file system that has hard links, and make the folder writable",
    errno.ENOTSUP: "use a file system that has hard links",
    errno.ENOENT: "restore the missing folder",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` about ``path`` into a :class:`StorageError` that names the mend."""
    try:
        yield
    except OSError as error:
        mend = _MENDS.get(error.errno or 0, "check the disk")
        raise StorageError(
            f"{path}: {error.strerror or error}; {mend} and give the same command again", path=str(path)
        ) from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents, durably."""
    with storage_errors(path):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            flush_folder(folder.parent)


def place(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, replacing what was there in one step."""
    with storage_errors(path), _written_aside(path, data) as aside:
        aside.replace(path)
        flush_folder(path.parent)


def place_once(path: Path, data: bytes) -> bool:
    """Write ``data`` to ``path`` unless it exists; return whether this call made it.

    Of several callers that race for one path exactly one gets True.
    """
    with storage_errors(path), _written_aside(path, data) as aside:
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            return False
        flush_folder(path.parent)
    return True


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(path: Path, mend: str) -> bytes:
    """A file's bytes.

    Raises:
        StorageError: the file is missing or unreadable; the message ends with ``mend``.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}; {mend}", path=str(path)) from error


def parse_json(path: Path, data: bytes, mend: str) -> dict[str, Any]:
    """A JSON object from a file's bytes.

    Raises:
        StorageError: the bytes are not a JSON object.
    """
    try:
        return json_object(data)
    except ValueError as error:
        raise StorageError(f"{path}: damaged ({error}); {mend}", path=str(path)) from error


def json_object(data: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ValueError: the bytes are not one.
    """
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def read_parquet(data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """A table out of the bytes of a Parquet file.

    On this thread alone: ``pq.read_table`` reads on threads of its own, and a process that ends soon
    after may be aborted by one of them ("terminate called without an active exception").
    """
    return pq.ParquetFile(pa.BufferReader(data)).read(columns, use_threads=False)


def decode(kind: TypeAdapter[T], path: Path, value: Any, mend: str) -> T:
    """A record out of parsed JSON, its fields checked; ``schema`` and the like are left out.

    Raises:
        StorageError: a field is missing or of another type.
    """
    try:
        return record(kind, value)
    except ValueError as error:
        raise StorageError(f"{path}: damaged ({error}); {mend}", path=str(path)) from error


def record(kind: TypeAdapter[T], value: Any) -> T:
    """A record out of parsed JSON, its fields checked.

    Raises:
        ValueError: names the first field that is missing or of another type.
    """
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "record"
        raise ValueError(f"{where}: {first['msg'].lower()}") from error


def json_bytes(value: Any) -> bytes:
    """Readable JSON with sorted keys: equal values give equal bytes."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()


def digest(data: bytes) -> str:
    """Hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _written_aside(path: Path, data: bytes) -> Iterator[Path]:
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield aside
    finally:
        aside.unlink(missing_ok=True)
