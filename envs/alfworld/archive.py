"""Take the benchmark's games out of a folder or an archive, and nothing else.

Of each game only ``game.tw-pddl`` is needed. An archive's paths are not followed: the parts of a path that
name a game are checked, the file is read as data, and written where it belongs. So links, devices and paths
that lead elsewhere do no harm, and what is too large is refused. A task set is unpacked aside and then
renamed: it is there as a whole or not at all.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from envs.alfworld.dataset import LAYOUT, TASK_SETS
from envs.alfworld.game import FILE_NAME, parse_game, task_type
from ocm.errors import SpecError

MAX_GAME = 2**20
"""Bytes; the benchmark's largest game has less than a tenth."""
MAX_GAMES = 20_000
MAX_FILES = 200_000
"""In a tar: each takes memory, a kilobyte or two. The whole of the benchmark has a quarter."""
MAX_HEADER = 2**20
"""Bytes of a tar's header, such as one with a long name: it is read as a whole."""
LEFTOVER_SECONDS = 86_400.0
"""Age from which a folder of unpacked games belongs to a process that was killed."""
_PREFIX = ".unpacking-"
_GAME = re.compile(rf"(?:.*/)?({'|'.join(TASK_SETS)})/([\w-]+)/([\w-]+)/{re.escape(FILE_NAME)}", re.ASCII)
_UNREADABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError),
    *(NotImplementedError, RuntimeError, OSError),  # a zip's unknown compression, a password, a damaged gzip
)


class _Member(tarfile.TarInfo):
    """A member of a tar; no header of too large a size is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if found.type not in (*tarfile.REGULAR_TYPES, tarfile.GNUTYPE_SPARSE) and found.size > MAX_HEADER:
            raise tarfile.ReadError(f"it has a header of {found.size} bytes")
        return found


class _Found(NamedTuple):
    """A file of a game that a source holds."""

    path: str
    read: Callable[[], bytes]
    """At most one byte more than a game may have."""


def take(
    source: Path, data: Path, *, force: bool = False, told: Callable[[int], object] = lambda games: None
) -> Mapping[str, int]:
    """Take all games of the source into a data folder.

    Args:
        source: a folder, or a ``.zip`` or ``.tar`` with any compression.
        data: where ``json_2.1.1`` is, or will be.
        force: replace task sets that are there.
        told: called with the number of games so far.

    Returns:
        The number of games by task set.

    Raises:
        SpecError: it cannot be read, it holds no games, one of them is wrong, or they are there already.
    """
    data.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(data)
    aside = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
    try:
        counts = _unpack(source, aside / "new", told)
        there = [one for one in counts if (data / LAYOUT / one).exists()]
        if there and not force:
            raise SpecError(
                f"{data / LAYOUT} has {', '.join(there)} already; add --force to replace what is there"
            )
        for task_set in counts:
            _put(aside, task_set, data / LAYOUT / task_set)
    finally:
        shutil.rmtree(aside)
    return counts


def _unpack(source: Path, target: Path, told: Callable[[int], object]) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for found in _files(source):
        match = _GAME.fullmatch(found.path)
        if match is None or task_type(match[2]) is None:
            continue
        folder = target.joinpath(*match.groups())
        if folder.exists():
            raise SpecError(f"{source} holds {'/'.join(match.groups())} twice; give one that holds it once")
        folder.mkdir(parents=True)
        (folder / FILE_NAME).write_bytes(_content(source, found))
        counts[match[1]] += 1
        told(counts.total())
        if counts.total() > MAX_GAMES:
            raise SpecError(f"{source} holds more than {MAX_GAMES} games: it is not ALFWorld's data set")
    if not counts:
        raise SpecError(
            f"{source} holds no ALFWorld games: nothing in it is called TASK_SET/FOLDER/TRIAL/{FILE_NAME}; "
            "give ALFWorld's json_2.1.2_tw-pddl.zip, or a folder or archive with its contents"
        )
    return {task_set: counts[task_set] for task_set in TASK_SETS if counts[task_set]}


def _content(source: Path, found: _Found) -> bytes:
    with _reading(source):
        content = found.read()
    if len(content) > MAX_GAME:
        raise SpecError(f"{source}: {found.path} is larger than {MAX_GAME} bytes: it is no ALFWorld game")
    try:
        parse_game(content)
    except ValueError as error:
        raise SpecError(f"{source}: {found.path} is no ALFWorld game: {error}") from None
    return content


def _files(source: Path) -> Iterator[_Found]:
    """Everything in the source that may be a game.

    Raises:
        SpecError: the source cannot be read.
    """
    if not source.exists():
        raise SpecError(f"{source} does not exist; give a folder or an archive of ALFWorld's games")
    with _reading(source):
        if source.is_dir():
            yield from _files_of_folder(source)
        elif zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                for info in archive.infolist():
                    yield _Found(info.filename, partial(_read_zipped, archive, info))
        else:
            with tarfile.open(source, "r:*", tarinfo=_Member) as tar:
                for count, member in enumerate(tar, 1):
                    if count > MAX_FILES:
                        raise tarfile.ReadError(f"it holds more than {MAX_FILES} files")
                    yield _Found(member.name, partial(_read_member, tar, member))


def _files_of_folder(source: Path) -> Iterator[_Found]:
    # its own name counts: it may be the folder of one task set
    for folder, folders, names in os.walk(source.resolve()):
        folders[:] = [one for one in folders if not one.startswith(_PREFIX)]
        path = Path(folder, FILE_NAME)
        if FILE_NAME in names and path.is_file() and not path.is_symlink():
            yield _Found(path.as_posix(), partial(_read_file, path))


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_GAME + 1)


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        return file.read(MAX_GAME + 1)


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Nothing for links and devices, which have no content of their own."""
    file = tar.extractfile(member) if member.isreg() else None
    return file.read(MAX_GAME + 1) if file else b""


@contextmanager
def _reading(source: Path) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        # for a file of no known compression, tarfile goes on with a line per compression
        reason = str(error).partition("\n")[0].rstrip(":")
        raise SpecError(
            f"{source} cannot be read: {reason}; give a folder, a .zip, or a .tar with any compression"
        ) from error


def _put(aside: Path, task_set: str, target: Path) -> None:
    """Rename an unpacked task set to its place; what was there goes aside."""
    target.parent.mkdir(exist_ok=True)
    old = aside / f"old {task_set}"
    try:
        if target.exists():
            target.rename(old)
        (aside / "new" / task_set).rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise


def _remove_leftovers(data: Path) -> None:
    for left in data.glob(f"{_PREFIX}*"):
        if time.time() - left.stat().st_mtime > LEFTOVER_SECONDS:
            shutil.rmtree(left)
