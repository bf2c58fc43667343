"""The search itself: it finds what leaks, in each spelling and in each kind of file."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocm.redaction import Redaction
from tests.secrets.canary import canary, leaking_files, leaks

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "beginning": lambda key: f"{key[:20]}****",
    "percent": lambda key: quote(key, safe=""),
    "bearer": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "basic": lambda key: base64.b64encode(f"ann:{key}".encode()).decode(),
    "address": lambda key: base64.urlsafe_b64encode(f"x{key}".encode()).decode(),
    "slash": lambda key: json.dumps(key).replace("/", "\\/"),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_each_spelling_is_found_and_taken_out(spell: Callable[[str], str]) -> None:
    key = canary()
    text = f"Incorrect API key: {spell(key)}, sorry"
    assert leaks([key], text)
    clean = Redaction([key]).text(text)
    assert not leaks([key], clean) and clean.endswith(", sorry")
    body = json.dumps({"error": text}).encode()
    assert not leaks([key], Redaction([key]).body(body))


def test_escapes_hide_nothing() -> None:
    key = canary()
    body = json.dumps({"text": [f"so {key}"], key: 1, "n": 2.5}).replace("-", "\\u002d").encode()
    assert json.loads(Redaction([key]).body(body)) == {"text": ["so [key]"], "[key]": 1, "n": 2.5}


def test_other_texts_stay_as_they_are() -> None:
    """Also where a server without keys was given a word in place of one."""
    text = 'sk-canary, "EMPTY" and \\u0041 \\/ none'
    assert Redaction([canary(), "EMPTY", ""]).text(text) == text
    assert Redaction([canary()]).body(text.encode()) == text.encode()


def test_files_of_each_kind_are_searched(tmp_path: Path) -> None:
    key = canary()
    assert leaking_files([key], tmp_path) == []
    pq.write_table(pa.table({"text": [f"a {key}"] * 99}), tmp_path / "a.parquet", compression="zstd")
    with sqlite3.connect(tmp_path / "b.db") as database:
        database.execute("CREATE TABLE t (x TEXT)")
        database.execute("INSERT INTO t VALUES (?)", (key,))
    database.close()
    (tmp_path / f"c-{key[:20]}").touch()
    assert len(leaking_files([key], tmp_path)) == 3
