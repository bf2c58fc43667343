"""``ocm methods``: what can stand under ``methods`` in a spec."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods, or the settings of the method NAME."""
    from agents.registry import METHODS, full_settings, method

    if name is None:
        width = max(map(len, METHODS))
        for entry in METHODS.values():
            click.echo(f"{entry.name:<{width}}  {entry.summary}  [{entry.source}]")
        return
    entry = method(name)
    click.echo(f"{entry.name}: {entry.summary}  [{entry.source}]")
    values = full_settings(name, {}).model_dump()
    for field, info in entry.settings_model.model_fields.items():
        click.echo(f"\n  {field} = {values[field]!r}")
        if info.description:
            click.echo(f"      {' '.join(info.description.split())}")
