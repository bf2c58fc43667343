"""``ocm knowledge``: what an agent knew, when it learned it, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from difflib import unified_diff
from pathlib import Path, PurePosixPath

import click

from flows.cli.options import find_chain, root_option, sweep_option
from ocm.errors import SpecError
from ocm.types import Delta, Files
from ocm.visible import visible

RECORDS = ("transitions/", "experience/")
"""Folders in which methods keep the episodes themselves; they would drown what was learned."""
MAX_CHARS = 1_000_000
"""Characters of one source."""
MOST_OF_A_FOLDER = 3
"""Paths of one folder that are named one by one."""


@click.group()
def knowledge() -> None:
    """What an agent knew, when it learned it, and what changed."""


@knowledge.command()
@click.argument("chain")
@root_option
@sweep_option
def log(chain: str, root: Path, sweep: str | None) -> None:
    """One line per episode of CHAIN: number, + for success or -, and what it did to the memory.

    Before a path, + is a new file, ~ a changed one and - a deleted one; +experts/ (9) are nine new files.
    """
    from knowledge_store.lake.reader import played

    place = find_chain(root, chain, sweep)
    kept: set[str] = set()
    for episode, _ in played(root, place.sweep, place.chain):
        update = episode.update
        mark = "+" if episode.trajectory.success else "-"
        paths = ", ".join(_gathered(_marked(update.delta, kept)))
        kept = kept.difference(one.path for one in update.delta if one.content is None)
        kept = kept.union(one.path for one in update.delta if one.content is not None)
        head = f"{episode.index:4} {mark} {update.outcome:<9} {episode.memory_after[:10]}"
        click.echo(visible(f"{head}  {': '.join(filter(None, (paths, update.reason)))}"))


@knowledge.command("show")
@click.argument("chain")
@click.argument("name", required=False)
@click.option("--episode", type=int, help="As it was after this episode; the last by default.")
@click.option("--signatures", is_flag=True, help="OCM's only: what it sees without inspecting (Level 0).")
@click.option("--all", "everything", is_flag=True, help="The records of episodes in full, too.")
@root_option
@sweep_option
def show_(
    chain: str,
    name: str | None,
    episode: int | None,
    signatures: bool,
    everything: bool,
    root: Path,
    sweep: str | None,
) -> None:
    """Print the memory of CHAIN, or the source of NAME in it: a definition or a file.

    A file may be named without its folder and suffix where that fits one file only.

    The whole memory begins with what was learned. The records of episodes (transitions/, experience/)
    are then listed by name and size; name one, or give --all, to read them.
    """
    from knowledge_store.index import level0
    from knowledge_store.lake.catalog import read_key
    from knowledge_store.lake.reader import memory_at
    from knowledge_store.memory import OBJECTS, procedures

    place = find_chain(root, chain, sweep)
    memory = memory_at(root, place.sweep, place.chain, episode)
    if not memory and name is None:
        click.echo("The memory is empty.")
    elif signatures:
        if OBJECTS not in memory and not procedures(memory):
            kept = ", ".join(_gathered(sorted(memory)))
            method = read_key(place).method
            raise SpecError(f"signatures are OCM's: {method} keeps {kept}; leave --signatures out")
        click.echo(visible(level0(memory).text))
    elif name is not None:
        click.echo(_shown(_source(memory, name)))
    else:
        for path in _learned_first(memory):
            if _is_record(path) and not everything:
                click.echo(f"{path}  {len(memory[path].encode()):,} bytes")
            else:
                click.secho(f"=== {path}", fg="cyan")
                click.echo(_shown(memory[path]))


@knowledge.command(context_settings={"ignore_unknown_options": True})  # -1 is no option
@click.argument("chain")
@click.argument("before", type=click.IntRange(min=-1))
@click.argument("after", type=click.IntRange(min=-1), required=False)
@click.option("--all", "everything", is_flag=True, help="The records of episodes in full, too.")
@root_option
@sweep_option
def diff(chain: str, before: int, after: int | None, everything: bool, root: Path, sweep: str | None) -> None:
    """What changed in the memory of CHAIN between the ends of episodes BEFORE and AFTER.

    AFTER is the last episode by default; -1 as BEFORE is the empty memory before the first. What was
    learned comes first; then each changed record of episodes (transitions/, experience/) has one line,
    unless --all is given.
    """
    from knowledge_store.lake.reader import memory_at

    place = find_chain(root, chain, sweep)
    old = memory_at(root, place.sweep, place.chain, before)
    new = memory_at(root, place.sweep, place.chain, after)
    if old == new:
        click.echo("Nothing changed.")
    for line in _diff(old, new, everything):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(visible(line), fg=colour)


def _shown(text: str) -> str:
    """A file's text for a terminal; the ends of its lines are not told apart."""
    return visible(text.replace("\r\n", "\n"))


def _source(memory: Files, name: str) -> str:
    """The source of a definition or file.

    Raises:
        SpecError: nothing has this name, or several files have.
    """
    from knowledge_store.inspection import resolve

    resolved = resolve(memory, [name], max_chars=MAX_CHARS)
    if resolved.found:
        return resolved.text
    fits = sorted(path for path in memory if name in (PurePosixPath(path).name, PurePosixPath(path).stem))
    if len(fits) > 1:
        raise SpecError(f"{name!r}: {len(fits)} files fit; name one of {', '.join(fits)}")
    if not fits:
        raise SpecError(resolved.text)
    return resolve(memory, fits, max_chars=MAX_CHARS).text


def _is_record(path: str) -> bool:
    """Whether the file records an episode, rather than what was learned from it."""
    return path.startswith(RECORDS)


def _marked(delta: Delta, kept: AbstractSet[str]) -> Iterator[str]:
    """The changed paths, each behind its mark; ``kept`` are the files before."""
    for change in delta:
        mark = "-" if change.content is None else "~" if change.path in kept else "+"
        yield f"{mark}{change.path}"


def _gathered(paths: Iterable[str]) -> list[str]:
    """The paths in order of their folders; ``experts/ (9)`` instead of many in one folder."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path[: path.rfind("/") + 1], []).append(path)
    return [
        shown
        for folder, own in folders.items()
        for shown in ([f"{folder} ({len(own)})"] if folder and len(own) > MOST_OF_A_FOLDER else own)
    ]


def _learned_first(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (_is_record(path), path))


def _diff(old: Files, new: Files, everything: bool) -> Iterator[str]:
    for path in _learned_first({*old, *new}):
        a, b = old.get(path, ""), new.get(path, "")
        if a == b:
            continue
        lines = list(unified_diff(a.splitlines(), b.splitlines(), path, path, lineterm=""))
        if _is_record(path) and not everything:
            yield f"{path}  {_counted(lines[2:])}"
        else:
            yield from lines


def _counted(lines: Sequence[str]) -> str:
    """``+30 -2 lines``, of a unified diff without its head."""
    counts = ((mark, sum(line.startswith(mark) for line in lines)) for mark in "+-")
    return " ".join([*(f"{mark}{count}" for mark, count in counts if count), "lines"])
