"""The database of a window: its tables, and how it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS admitted (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, tokens INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS admitted_at ON admitted (at);
CREATE TABLE IF NOT EXISTS waiting (
    id INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL, tokens INTEGER NOT NULL, admission INTEGER);
CREATE TABLE IF NOT EXISTS processes (name TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (
    requests INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
    requests_limit INTEGER, tokens_limit INTEGER, learned_at REAL NOT NULL DEFAULT 0,
    requests_left INTEGER, requests_reset REAL NOT NULL DEFAULT 0,
    tokens_left INTEGER, tokens_reset REAL NOT NULL DEFAULT 0,
    closed_since REAL NOT NULL DEFAULT -1e18, closed_until REAL NOT NULL DEFAULT -1e18,
    backoffs INTEGER NOT NULL DEFAULT 0);
INSERT INTO state (requests) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM state);
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON admitted BEGIN
    UPDATE state SET requests = requests + 1, tokens = tokens + new.tokens; END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON admitted BEGIN
    UPDATE state SET requests = requests - 1, tokens = tokens - old.tokens; END;
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE OF tokens ON admitted BEGIN
    UPDATE state SET tokens = tokens - old.tokens + new.tokens; END;
"""


def opened(path: Path | None) -> sqlite3.Connection:
    """The database at a path, made if it is not there; in memory if the path is None.

    Raises:
        OSError: its folder cannot be made.
        sqlite3.Error: it cannot be opened or written.
    """
    if path is None:
        return _connected(":memory:")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connected(str(path))
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # a power cut may leave it in pieces, and it holds no more than a minute
        path.unlink(missing_ok=True)
        return _connected(str(path))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process was in the middle of a transaction for too long."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connected(name: str) -> sqlite3.Connection:
    database = sqlite3.connect(name, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        # The rollback journal stays on: with it the file is whole even if a process is killed in a write.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = PERSIST")
        database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except sqlite3.Error:
        database.close()
        raise
    return database
