"""``ocm knowledge``: what an agent knew, when it learned it, and what changed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from flows.cli.options import find_chain, root_option, sweep_option


@click.group()
def knowledge() -> None:
    """What an agent knew, when it learned it, and what changed."""


@knowledge.command()
@click.argument("chain")
@root_option
@sweep_option
def log(chain: str, root: Path, sweep: str | None) -> None:
    """One line per episode of CHAIN: number, + for success or -, and what it did to the memory."""
    from knowledge_store.lake.reader import played

    place = find_chain(root, chain, sweep)
    for episode, _ in played(root, place.sweep, place.chain):
        update = episode.update
        mark = "+" if episode.trajectory.success else "-"
        paths = ", ".join(
            change.path if change.content is not None else f"{change.path} (deleted)"
            for change in update.delta
        )
        head = f"{episode.index:4} {mark} {update.outcome:<9} {episode.memory_after[:10]}"
        click.echo(f"{head}  {': '.join(filter(None, (paths, update.reason)))}")


@knowledge.command("show")
@click.argument("chain")
@click.argument("name", required=False)
@click.option("--episode", type=int, help="As it was after this episode; the last by default.")
@click.option("--signatures", is_flag=True, help="Only what the agent sees without inspecting (Level 0).")
@root_option
@sweep_option
def show_(
    chain: str, name: str | None, episode: int | None, signatures: bool, root: Path, sweep: str | None
) -> None:
    """Print the memory of CHAIN, or the source of NAME in it."""
    from knowledge_store.index import level0
    from knowledge_store.inspection import resolve
    from knowledge_store.lake.reader import memory_at
    from ocm.errors import SpecError

    place = find_chain(root, chain, sweep)
    memory = memory_at(root, place.sweep, place.chain, episode)
    if signatures:
        click.echo(level0(memory).text)
    elif name is not None:
        resolved = resolve(memory, [name], max_chars=1_000_000)
        if not resolved.found:
            raise SpecError(resolved.text)
        click.echo(resolved.text)
    else:
        for path in sorted(memory):
            click.secho(f"=== {path}", fg="cyan")
            click.echo(memory[path])


@knowledge.command(context_settings={"ignore_unknown_options": True})  # -1 is no option
@click.argument("chain")
@click.argument("before", type=click.IntRange(min=-1))
@click.argument("after", type=click.IntRange(min=-1), required=False)
@root_option
@sweep_option
def diff(chain: str, before: int, after: int | None, root: Path, sweep: str | None) -> None:
    """What changed in the memory of CHAIN between the ends of episodes BEFORE and AFTER.

    AFTER is the last episode by default; -1 as BEFORE is the empty memory before the first.
    """
    from knowledge_store.lake.reader import memory_at

    place = find_chain(root, chain, sweep)
    old = memory_at(root, place.sweep, place.chain, before)
    new = memory_at(root, place.sweep, place.chain, after)
    for line in _diff(old, new):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(line, fg=colour)


def _diff(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for path in sorted({*old, *new}):
        a, b = old.get(path, ""), new.get(path, "")
        if a != b:
            yield from unified_diff(a.splitlines(), b.splitlines(), path, path, lineterm="")
