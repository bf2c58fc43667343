"""The database of a Prefect server of our own: whole, or not there.

An empty database costs 10 s of migrations, so the first server of a Prefect version leaves a copy of
its fresh database in the user's cache folder, and later ones begin with that.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

log = logging.getLogger(__name__)

DATABASE = "prefect.db"
UNREADY = "migrating"
"""A file beside the database while it is being made."""


def seed(home: Path) -> None:
    """Begin with a migrated database if there is none; drop one that a kill left half-migrated."""
    database = home / DATABASE
    if unready(home):
        for leftover in home.glob(f"{DATABASE}*"):
            leftover.unlink()
    if database.exists():
        return
    (home / UNREADY).touch()
    if template().exists():
        shutil.copyfile(template(), database)


def unready(home: Path) -> bool:
    """Whether no server has ever answered with the database in ``home``."""
    return (home / UNREADY).exists()


def mark_migrated(home: Path) -> None:
    """The database is complete: say so, and leave a copy of a fresh one for later servers."""
    if not unready(home):
        return
    (home / UNREADY).unlink()
    kept = template()
    if kept.exists():
        return
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            fresh = Path(folder) / DATABASE
            with closing(sqlite3.connect(home / DATABASE)) as live, closing(sqlite3.connect(fresh)) as copy:
                live.backup(copy)
            fresh.replace(kept)
    except OSError as error:
        log.info("no copy of Prefect's empty database is kept: %s", error)


def template() -> Path:
    """Where the copy of a fresh database is kept."""
    return user_cache_path("ocm-at-scale") / f"prefect-{version('prefect')}.db"
