"""A storage root to read from: a folder, or a URL that Arrow knows (``s3://bucket/prefix``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ocm.errors import SpecError, StorageError

Listing = Mapping[str, int | None]
"""Path relative to the root -> bytes; None for a folder."""

_USER = re.compile(r"(?<=://)[^/@]*@")
_AHEAD = 16
"""Files of an object store that are asked for at once: a request takes tens of milliseconds."""
_GOOGLE_LIMIT = "retry_limit_seconds"
_GOOGLE_SECONDS = 30
"""Google's client would try in silence for a quarter of an hour, also without credentials."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """Reads a storage root. Paths are relative to it, with ``/``."""

    name: str
    """As it was given, without credentials."""
    local: Path | None
    """None for an object store."""
    filesystem: Any
    base: str

    def listing(self, folder: str = "", *, recursive: bool = False) -> dict[str, int | None]:
        """What a folder holds; empty when there is none. One request per thousand files.

        Raises:
            StorageError: it cannot be listed.
        """
        place = self._full(folder)
        # asked so, Arrow tells a bucket that does not exist from one that holds nothing there
        selector = fs.FileSelector(place, allow_not_found=bool(folder), recursive=recursive)
        try:
            found = self.filesystem.get_file_info(selector)
        except FileNotFoundError:
            return {}
        except (OSError, pa.ArrowException, UnicodeError) as error:
            raise StorageError(f"{self.name}: cannot be listed: {_reason(error)}; {self._mend()}") from error
        skipped = len(self.base) + 1 if self.base else 0
        return {
            info.path[skipped:]: info.size if info.type == fs.FileType.File else None
            for info in found
            if info.type in (fs.FileType.File, fs.FileType.Directory)
        }

    def read(self, path: str) -> bytes | Unreadable:
        """A file's bytes, or why they cannot be had."""
        try:
            with self.filesystem.open_input_stream(self._full(path), compression=None) as stream:
                data: bytes = stream.read()
        except (OSError, pa.ArrowException, UnicodeError) as error:
            return Unreadable(_reason(error))
        return data

    def read_each(self, paths: Sequence[str]) -> Iterator[bytes | Unreadable]:
        """The bytes of each path, in order; from an object store several at once."""
        if self.local is not None:
            yield from map(self.read, paths)
            return
        with ThreadPoolExecutor(_AHEAD) as pool:
            for start in range(0, len(paths), _AHEAD):
                yield from pool.map(self.read, paths[start : start + _AHEAD])

    def _full(self, path: str) -> str:
        return "/".join(part for part in (self.base, path) if part)

    def _mend(self) -> str:
        if self.local is not None:
            return "make it readable, or give another --root"
        return (
            "check the bucket and the credentials; another endpoint than the cloud's own is given in the URL:"
            " ?endpoint_override=HOST:PORT&scheme=http, or for S3 as AWS_ENDPOINT_URL"
        )


def open_source(root: str) -> Source:
    """Open a storage root for reading.

    Raises:
        SpecError: the folder does not exist, or the URL is none that Arrow knows.
    """
    if "://" not in root:
        folder = Path(root)
        if not folder.is_dir():
            raise SpecError(f"{root}: no such folder; give the storage root of a lake with --root")
        return Source(root, folder, fs.LocalFileSystem(), str(folder.resolve()))
    name = _USER.sub("", root).partition("?")[0]
    try:
        filesystem, base = fs.FileSystem.from_uri(_limited(root))
    except (OSError, pa.ArrowException, ValueError) as error:
        wanted = "give a folder, or a URL such as s3://BUCKET/PREFIX"
        raise SpecError(f"{name}: cannot be opened: {_reason(error)}; {wanted}") from error
    if not base.strip("/"):
        raise SpecError(f"{name}: names no folder; give a URL such as s3://BUCKET/PREFIX")
    local = Path(base) if isinstance(filesystem, fs.LocalFileSystem) else None
    return Source(name, local, filesystem, base.rstrip("/"))


def _limited(url: str) -> str:
    """The URL with a limit to retries, if its cloud's client needs to be told one."""
    if not url.startswith(("gs://", "gcs://")) or _GOOGLE_LIMIT in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}{_GOOGLE_LIMIT}={_GOOGLE_SECONDS}"


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return _USER.sub("", lines[0]) if lines else type(error).__name__
