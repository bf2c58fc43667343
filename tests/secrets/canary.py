"""A canary: a secret that is nowhere else, and a search for it in every spelling, in bytes and in files."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq

SHOWN = 16
"""So many first characters give a canary away."""


def canary() -> str:
    """A key as services word theirs, with signs that addresses and base64 spell in another way."""
    return f"sk-canary-{secrets.token_hex(16)}/+{secrets.token_hex(4)}"


def traces(canary: str) -> dict[str, bytes]:
    """What a leak looks like, by name: written apart from what redacts, so that it does not err alike."""
    found = {
        "plain": canary[:SHOWN].encode(),
        "end": canary[-SHOWN:].encode(),
        "percent": quote(canary, safe="").encode()[-SHOWN - 4 :],
        "escaped": json.dumps(canary).replace("/", "\\/").encode()[-SHOWN:-1],
    }
    for shift in range(3):
        whole = base64.b64encode(b"." * shift + canary.encode()).rstrip(b"=")
        found[f"base64, shifted by {shift}"] = whole[4:-4]
        found[f"base64 of addresses, shifted by {shift}"] = whole[4:-4].translate(
            bytes.maketrans(b"+/", b"-_")
        )
    return found


def leaks(canaries: Iterable[str], data: bytes | str) -> list[str]:
    """In which spellings any of them stands in some data."""
    data = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return [name for one in canaries for name, trace in traces(one).items() if trace in data]


def leaking_files(canaries: Iterable[str], *folders: Path) -> list[str]:
    """Every file under the folders that has one of them, as it is or decoded, in content or name."""
    known = tuple(canaries)
    return [
        f"{path}: {', '.join(found)}"
        for folder in folders
        for path in folder.rglob("*")
        if (found := [name for data in _contents(path) for name in leaks(known, data)])
    ]


def _contents(path: Path) -> Iterator[bytes]:
    yield str(path).encode()
    if not path.is_file() or path.is_symlink():
        return
    yield path.read_bytes()
    if path.suffix == ".parquet":
        yield repr(pq.ParquetFile(path).read().to_pylist()).encode("utf-8", "surrogatepass")
