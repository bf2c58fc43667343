"""``ocm plan``: what a sweep would do and cost."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from flows.cli.options import spec_argument
from flows.wording import counted


@click.command()
@spec_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(spec: Path, as_json: bool) -> None:
    """Print the chains of SPEC, the calls it will take and an estimate of its cost.

    Runs nothing and needs no key.
    """
    from flows.estimate import ASSUMED, estimate_chain, total, turn_tokens, workload
    from flows.planning import key_problems
    from flows.planning import plan as expand
    from flows.spec_file import load_spec

    expanded = expand(load_spec(spec), None)
    estimates = [estimate_chain(chain) for chain in expanded.chains]
    everything = total(estimates)
    if as_json:
        rows = [
            {
                "chain": chain.id,
                "episodes": len(chain.tasks),
                **asdict(estimate),
                "workload": asdict(workload(chain)),
            }
            for chain, estimate in zip(expanded.chains, estimates, strict=True)
        ]
        document = {"sweep": expanded.spec.name, "chains": rows, "total": asdict(everything)}
        click.echo(json.dumps({**document, "assumptions": asdict(ASSUMED)}, indent=2))
        return
    width = max(len(chain.id) for chain in expanded.chains)
    click.echo(f"{'chain':<{width}}  episodes   calls  at most    tokens in   tokens out      cost")
    for chain, estimate in zip(expanded.chains, estimates, strict=True):
        click.echo(
            f"{chain.id:<{width}}  {len(chain.tasks):8}  {estimate.calls:6,.0f}  {estimate.calls_at_most:7,}"
            f"  {estimate.prompt_tokens:11,.0f}  {estimate.completion_tokens:11,.0f}"
            f"  {dollars(estimate.cost):>8}"
        )
    click.echo(
        f"\n{counted(len(expanded.chains), 'chain')}, {counted(expanded.episodes, 'episode')}: "
        f"about {everything.calls:,.0f} calls "
        f"(at most {everything.calls_at_most:,}), {everything.prompt_tokens / 1e6:,.2f} M tokens in and "
        f"{everything.completion_tokens / 1e6:,.2f} M out, cost {dollars(everything.cost)}"
    )
    worlds = dict.fromkeys(world.name for world in expanded.spec.environments)
    turns = ", ".join(f"{turn_tokens(name):.0f} a turn in {name}" for name in worlds)
    click.echo(
        f"An estimate, not a measurement: it assumes {ASSUMED.steps_share:.0%} of the step limit, "
        f"{ASSUMED.reply_tokens} tokens a reply, {turns}, and no cache discount; "
        "--json prints all assumptions."
    )
    for problem in key_problems(expanded.spec, os.environ):
        click.echo(f"Before it can be run: {problem}", err=True)


def dollars(cost: float | None) -> str:
    """A cost in US dollars, or ``unknown``."""
    return "unknown" if cost is None else f"${cost:,.2f}"
