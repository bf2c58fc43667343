"""``ocm tasks``: the tasks of an environment, with their strata."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command()
@click.argument("environment", required=False)
@click.option("--task-set", help="The task set; by default that of the paper.")
@click.option("--settings", "show_settings", is_flag=True, help="List the environment's settings instead.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def tasks(environment: str | None, task_set: str | None, show_settings: bool, as_json: bool) -> None:
    """List the tasks of ENVIRONMENT in the benchmark's order; without it, list the environments."""
    from envs import registry

    if environment is None:
        for known in registry.ENVIRONMENTS.values():
            sets = ", ".join(known.task_sets)
            click.echo(f"{known.name}  {known.summary}  task sets: {sets} (default {known.default_task_set})")
        return
    entry = registry.entry(environment)
    if show_settings:
        for field, info in registry.settings_model(environment).model_fields.items():
            click.echo(f"{field} = {info.get_default(call_default_factory=True)!r}  {info.description or ''}")
        return
    world = registry.create(environment, {})
    try:
        for task in world.tasks(task_set or entry.default_task_set):
            if as_json:
                click.echo(json.dumps(asdict(task)))
            else:
                click.echo(f"{task.id}\t{task.stratum}")
    finally:
        world.close()
