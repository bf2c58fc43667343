"""Arguments and options that several commands share."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

from knowledge_store.lake.paths import ChainPaths, chains, sweeps
from knowledge_store.lake.root import open_for_reading
from ocm.errors import SpecError

spec_argument = click.argument("spec", type=click.Path(path_type=Path, dir_okay=False))

root_option = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Storage root of the lake.",
)

sweep_option = click.option("--sweep", help="Name of the sweep, where a chain's name fits several.")


def check_sweep(root: Path, sweep: str) -> None:
    """See that the root holds the sweep.

    Raises:
        SpecError: it does not; the message lists those that it holds.
        StorageError: the lake is of another schema, or damaged.
    """
    open_for_reading(root)
    known = sweeps(root)
    if sweep not in known:
        there = f"it has {', '.join(known)}" if known else "there are none; give the storage root with --root"
        raise SpecError(f"{root}: no sweep {sweep!r}; {there}")


def find_chain(root: Path, pattern: str, sweep: str | None = None) -> ChainPaths:
    """The one chain whose id contains the pattern; an exact id wins.

    Raises:
        SpecError: none fits, or several do.
    """
    if sweep is not None:
        check_sweep(root, sweep)
    known = [chain for name in (sweeps(root) if sweep is None else [sweep]) for chain in chains(root, name)]
    fits = [chain for chain in known if chain.chain == pattern] or [
        chain for chain in known if pattern in chain.chain
    ]
    if len(fits) == 1:
        return fits[0]
    if not known:
        raise SpecError(f"{root}: no chains there; give the storage root with --root")
    listed = "\n  ".join(f"{chain.sweep}  {chain.chain}" for chain in (fits or known))
    what = f"{len(fits)} chains fit" if fits else "no chain fits"
    several = list(dict.fromkeys(chain.sweep for chain in fits))
    how = f"add --sweep NAME ({', '.join(several)}) and " if len(several) > 1 else ""
    raise SpecError(f"{pattern!r}: {what}; {how}name one of\n  {listed}")


def command_given(context: click.Context) -> str:
    """The command as it was given, to be pasted into a shell: options at their defaults are left out."""
    words = ["ocm", *context.command_path.split()[1:]]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = isinstance(parameter, click.Option) and parameter.is_flag
            words += [parameter.opts[-1]] if flag else [parameter.opts[-1], str(value)]
    return shlex.join(words)
