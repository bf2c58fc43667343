"""The ``ocm`` command line. Each command is imported only when it is called: help answers at once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from ocm.errors import OcmError
from ocm.redaction import Redaction, secrets_in

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("flows.cli.run:run", "Run a sweep, or go on with it: the same command is the only resume verb."),
    "plan": ("flows.cli.plan:plan", "Print a sweep's chains, expected calls and cost. Runs nothing."),
    "status": ("flows.cli.status:status", "Print how far each chain is, who plays it, and what was spent."),
    "results": ("flows.cli.results:results", "Print a sweep's result table from the lake."),
    "show": ("flows.cli.show:show", "Print one episode: turns, inspects, actions, observations, learning."),
    "knowledge": ("flows.cli.knowledge:knowledge", "What an agent knew, when, and what changed."),
    "sql": ("flows.cli.sql:sql", "Query the lake in SQL."),
    "digest": ("flows.cli.digest:digest", "Hashes of trajectories and memories, to compare two runs."),
    "check": ("flows.cli.check:check", "Check that the lake is as it was written, and say what is wrong."),
    "repair": ("flows.cli.repair:repair", "Mend what can safely be mended in a lake."),
    "methods": ("flows.cli.methods:methods", "List the methods and their settings."),
    "tasks": ("flows.cli.tasks:tasks", "List the tasks of an environment."),
    "data": ("flows.cli.data:data", "Get the data set of an environment that needs one."),
    "mlflow": ("flows.cli.mlflow:mlflow", "Bring MLflow up to date with the lake."),
    "doctor": ("flows.cli.doctor:doctor", "Say what this machine offers: sandbox, packages, services."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="ocm-at-scale", prog_name="ocm")
def ocm() -> None:
    """Object-Centric environment Modeling, online and at scale.

    A sweep is a TOML file: methods x environments x backbones x seeds. `ocm run SPEC` plays it and ends
    with a table; everything it saw, asked and learned is in the lake.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: every error of ours is one clear message and an exit code, never a traceback."""
    try:
        status = ocm.main(args=arguments, prog_name="ocm", standalone_mode=False)
    except OcmError as error:
        tell(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except OSError as error:  # click itself ends quietly when nobody reads the output any more
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def tell(error: OcmError) -> None:
    """Print an error: its message, then one line per problem; whatever it quotes, without secrets."""
    redaction = Redaction(secrets_in(os.environ))
    click.echo(redaction.text(f"error: {error.message}"), err=True)
    for problem in getattr(error, "problems", ()):
        click.echo(redaction.text(f"  {problem}"), err=True)
