"""``ocm tasks --check``: play some steps of every task on real hosts, and say what failed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from flows.cli.tasks import planned_tasks
from ocm.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flows.checking import EnvironmentCheck
    from ocm.types import TaskRef


def check_tasks(
    named: Sequence[str], task_set: str | None, limit: int | None, *, steps: int, as_json: bool
) -> int:
    """Check the named environments, or all; the exit code.

    Raises:
        OrchestrationError: Ray cannot be started.
    """
    from rich.console import Console

    from envs import registry
    from flows.quiet import quiet_services

    planned: dict[str, Sequence[TaskRef]] = {}
    missing = []
    for name in dict.fromkeys(named or registry.names()):
        registry.entry(name)  # a name that does not exist is wrong input, not a missing environment
        try:
            planned[name] = planned_tasks(name, task_set)[:limit]
        except SpecError as error:
            missing.append(name)
            click.echo(f"{name}: {'error' if named else 'skipped'}: {error}", err=True)
    quiet_services()
    checks = asyncio.run(_check(planned, steps, Console(stderr=True))) if planned else []
    for check in checks:
        for failed in check.errors:
            click.echo(f"{check.environment} {failed.task.id}: {failed.error}", err=True)
    if as_json:
        for check in checks:
            click.echo(json.dumps(_as_json(check)))
    elif checks:
        Console().print(_as_table(checks))
    return int(any(check.errors for check in checks) or bool(named and missing))


async def _check(
    planned: Mapping[str, Sequence[TaskRef]], steps: int, console: Console
) -> list[EnvironmentCheck]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from envs import registry
    from flows.checking import TaskCheck, check_environment
    from flows.hosting import host_pool
    from flows.ray_session import is_local, ray_session

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    checks = []
    with ray_session(), Progress(*columns, console=console) as progress:
        # a simulator is busy all the time here, as nobody waits for a model
        entries = [registry.entry(name) for name in planned]
        pool = host_pool(entries, hosts=os.cpu_count() if is_local() else None)
        try:
            for name, tasks in planned.items():
                bar = progress.add_task(name, total=len(tasks))

                def told(_: TaskCheck, bar: Any = bar) -> None:
                    progress.advance(bar)

                checks.append(await check_environment(pool, registry.entry(name), tasks, steps, told))
        finally:
            await pool.close()
    return checks


def _as_json(check: EnvironmentCheck) -> dict[str, Any]:
    return {
        "environment": check.environment,
        "task_set": check.task_set,
        "tasks": len(check.tasks),
        "resets": check.resets,
        "steps": len(check.steps),
        "invalid_share": check.invalid_share,
        "observation_characters": check.observation_characters,
        "seconds": check.seconds,
        "errors": [{"task": one.task.id, "message": one.error} for one in check.errors],
    }


def _as_table(checks: Sequence[EnvironmentCheck]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=0)
    table.add_column("environment")
    for title in ("tasks", "resets", "steps", "invalid", "chars/obs.", "seconds", "errors"):
        table.add_column(title, justify="right")
    for check in checks:
        invalid, characters = check.invalid_share, check.observation_characters
        table.add_row(
            f"{check.environment} {check.task_set}",
            str(len(check.tasks)),
            str(check.resets),
            str(len(check.steps)),
            "–" if invalid is None else f"{invalid:.1%}",
            "–" if characters is None else f"{characters:.0f}",
            f"{check.seconds:.1f}",
            str(len(check.errors)),
        )
    return table
