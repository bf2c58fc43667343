"""``ocm data``: the data sets of the environments that have one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ocm.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

ALFWORLD = "alfworld"


@click.command()
@click.argument("environment", required=False)
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace task sets that are there already.")
@click.option("--to", type=click.Path(path_type=Path, file_okay=False), help="Where to put it.")
def data(environment: str | None, source: Path | None, force: bool, to: Path | None) -> None:
    """Get the data set of ENVIRONMENT, from the internet or from SOURCE; without any, list what is there.

    Only alfworld needs one. SOURCE is a folder or an archive of its games, such as the
    json_2.1.2_tw-pddl.zip of its releases.
    """
    from envs.alfworld.dataset import VARIABLE, data_folder

    if environment is None:
        _list()
        return
    _check(environment)
    target = to or data_folder()
    _check_target(target)
    if source is None:
        with tempfile.TemporaryDirectory() as folder:
            _take(_fetched(target, force, Path(folder)), target, force)
    else:
        _take(source, target, force)
    if target != data_folder():
        click.echo(f"to use it: export {VARIABLE}={target.resolve()}")


def _list() -> None:
    from envs.alfworld.dataset import MEND, data_folder, games_there
    from envs.registry import names

    for name in names():
        if name != ALFWORLD:
            click.echo(f"{name:<13} comes with its package")
    there = games_there(data_folder())
    click.echo(f"{ALFWORLD:<13} {_counts(there) if there else f'not there; {MEND}'}")
    click.echo(f"{'':<13} {data_folder()}")


def _check(environment: str) -> None:
    from envs.registry import entry

    if entry(environment).name != ALFWORLD:
        raise SpecError(f"{environment} needs no data set: it comes with its package; only {ALFWORLD} does")


def _check_target(target: Path) -> None:
    """See that games can be written there, before they are fetched or unpacked."""
    there = next(path for path in (target, *target.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        what = "cannot be written to" if there.is_dir() else "is not a folder"
        raise SpecError(f"cannot put games into {target}: {there} {what}; give another folder with --to")


def _fetched(target: Path, force: bool, folder: Path) -> Path:
    """The archive from the internet, unless that would be in vain."""
    from envs.alfworld.dataset import games_there
    from envs.alfworld.download import download

    there = games_there(target)
    if there and not force:
        raise SpecError(f"{target} has {_counts(there)} already; add --force to replace what is there")
    return download(folder)


def _take(source: Path, target: Path, force: bool) -> None:
    from envs.alfworld.archive import take

    with _progress() as told:
        counts = take(source, target, force=force, told=told)
    click.echo(f"{target}: {_counts(counts)}")


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A line that counts games, gone at the end; nothing where the output is no terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("looking for games") as status:
        yield lambda games: status.update(f"{games:,} games")


def _counts(counts: Mapping[str, int]) -> str:
    from envs.alfworld.dataset import GAMES

    parts = (f"{task_set} {games:,} of {GAMES[task_set]:,} games" for task_set, games in counts.items())
    return ", ".join(parts)
