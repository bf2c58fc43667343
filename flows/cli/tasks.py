"""``ocm tasks``: the tasks of an environment, with their strata; ``--check`` plays them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ocm.types import TaskRef

STEPS = 10


@click.command()
@click.argument("environments", metavar="[ENVIRONMENT]...", nargs=-1)
@click.option("--task-set", help="The task set; by default that of the paper.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many tasks.")
@click.option("--settings", "show_settings", is_flag=True, help="List the environment's settings instead.")
@click.option("--check", is_flag=True, help="Reset every task on real hosts and take some steps in each.")
@click.option("--steps", type=click.IntRange(0), help=f"Steps per checked task; {STEPS} by default.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def tasks(
    environments: tuple[str, ...],
    task_set: str | None,
    limit: int | None,
    show_settings: bool,
    check: bool,
    steps: int | None,
    as_json: bool,
) -> int:
    """List the tasks of ENVIRONMENT in the benchmark's order; without it, list the environments.

    With --check, play some seeded steps of every task of the named environments, or of all that are
    installed. The exit code is 1 when a task fails, or when an environment that was named is not there.
    """
    if check:
        from flows.cli.task_check import check_tasks

        given = STEPS if steps is None else steps
        return check_tasks(environments, task_set, limit, steps=given, as_json=as_json)
    if steps is not None:
        raise click.UsageError("--steps goes with --check")
    if not environments:
        _list_environments()
        return 0
    for name in environments:
        if show_settings:
            _list_settings(name)
        else:
            _list_tasks(name, planned_tasks(name, task_set)[:limit], as_json)
    return 0


def planned_tasks(name: str, task_set: str | None) -> Sequence[TaskRef]:
    """The tasks of a set, or of the paper's. No simulator is started.

    Raises:
        SpecError: no such environment or task set, or it is not installed.
    """
    from envs import registry

    world = registry.create(name, {})
    try:
        return tuple(world.tasks(task_set or registry.entry(name).default_task_set))
    finally:
        world.close()


def _list_environments() -> None:
    from envs import registry

    for known in registry.ENVIRONMENTS.values():
        sets = ", ".join(known.task_sets)
        click.echo(f"{known.name}  {known.summary}  task sets: {sets} (default {known.default_task_set})")


def _list_settings(name: str) -> None:
    from envs import registry

    fields = registry.settings_model(name).model_fields
    if not fields:
        click.echo(f"{name} has no settings", err=True)
    for field, info in fields.items():
        click.echo(f"{field} = {info.get_default(call_default_factory=True)!r}  {info.description or ''}")


def _list_tasks(name: str, listed: Sequence[TaskRef], as_json: bool) -> None:
    """The tasks on standard output, their number per stratum on standard error."""
    from envs import registry

    for task in listed:
        click.echo(json.dumps(asdict(task)) if as_json else f"{task.id}\t{task.stratum}")
    counts = Counter(task.stratum for task in listed)
    strata = ", ".join(f"{stratum} {counts[stratum]}" for stratum in registry.strata(name, listed))
    click.echo(f"{len(listed)} tasks of {name}: {strata}", err=True)
