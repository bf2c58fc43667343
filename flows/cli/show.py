"""``ocm show``: one episode as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.cli.options import find_chain, root_option, sweep_option
from ocm.visible import visible

if TYPE_CHECKING:
    from ocm.types import Episode, Inspection, MemoryUpdate, Step, Trajectory, Turn

Line = tuple[str, str]
"""A text and its colour; no colour is empty."""

_COLOURS = {"valid": "green", "malformed": "red", "refused": "red", "no_effect": "yellow"}


@click.command()
@click.argument("chain")
@click.argument("episode", type=click.IntRange(min=0))
@root_option
@sweep_option
@click.option("--calls", is_flag=True, help="Print every model call in full instead.")
def show(chain: str, episode: int, root: Path, sweep: str | None, calls: bool) -> None:
    """Print EPISODE (from 0) of CHAIN (an id, or a part of one)."""
    from knowledge_store.lake.reader import load_episode

    place = find_chain(root, chain, sweep)
    loaded = load_episode(root, place.sweep, place.chain, episode)
    for text, colour in _calls(loaded) if calls else _episode(loaded):
        click.secho(visible(text), fg=colour or None)


def _episode(episode: Episode) -> Iterator[Line]:
    trajectory = episode.trajectory
    task = trajectory.task
    yield f"{episode.sweep} / {episode.chain} / episode {episode.index}", "cyan"
    yield f"task {task.id} ({task.stratum})   {trajectory.goal}", ""
    yield "", ""
    yield from _indented(trajectory.first_observation)
    for number, step in enumerate(trajectory.steps, start=1):
        yield from _step(trajectory, number, step)
    yield "", ""
    yield from _ending(episode)
    yield from _learning(episode.update)


def _step(trajectory: Trajectory, number: int, step: Step) -> Iterator[Line]:
    inspections = iter([one for one in trajectory.inspections if one.step == number])
    yield "", ""
    for turn in (turn for turn in trajectory.turns if turn.step == number):
        yield from _turn(turn, next(inspections) if turn.kind == "inspect" else None)
    reward = f"  reward {step.reward:g}" if step.reward else ""
    yield f"[{number}] {step.action}   ({step.validity}){reward}", _COLOURS[step.validity]
    yield from _indented(step.observation)


def _turn(turn: Turn, inspection: Inspection | None) -> Iterator[Line]:
    if turn.thought:
        yield from _indented(turn.thought, "  · ", "bright_black")
    if inspection is not None:
        missing = f"   unknown: {', '.join(inspection.missing)}" if inspection.missing else ""
        yield f"  Inspect[{turn.content}]   {len(inspection.text)} characters{missing}", "magenta"
    elif turn.kind == "malformed":
        yield f"  malformed: {turn.content}", "red"
    elif turn.kind == "program":
        yield "  program:", "magenta"
        yield from _indented(turn.content, "    ", "magenta")
    elif turn.kind == "vetoed":
        yield f"  held back: {turn.content}", "yellow"


def _ending(episode: Episode) -> Iterator[Line]:
    trajectory = episode.trajectory
    tokens = sum(call.reply.usage.prompt + call.reply.usage.completion for call in episode.calls)
    costs = [call.reply.cost for call in episode.calls]
    cost = "unknown" if None in costs else f"${sum(one or 0.0 for one in costs):.4f}"
    yield (
        (
            f"{trajectory.end}: reward {trajectory.reward:g}, {len(trajectory.steps)} steps, "
            f"{trajectory.invalid_actions} invalid, {len(trajectory.inspections)} inspects, "
            f"{len(episode.calls)} calls, {tokens:,} tokens, cost {cost}"
        ),
        "green" if trajectory.success else "yellow",
    )
    rehearsed = f"  {episode.rehearsal_steps} rehearsal steps" if episode.rehearsal_steps else ""
    stages = "  ".join(f"{name} {seconds:.2f} s" for name, seconds in episode.stages.items())
    attempt = f"  attempt {episode.attempt}" if episode.attempt > 1 else ""
    yield f"{stages}{rehearsed}{attempt}", "bright_black"


def _learning(update: MemoryUpdate) -> Iterator[Line]:
    yield f"memory: {update.outcome}{'  ' + update.reason if update.reason else ''}", "cyan"
    for change in update.delta:
        what = "deleted" if change.content is None else f"{len(change.content.splitlines())} lines"
        yield f"  {change.path}   {what}", ""
    for one in update.rounds:
        failed = [verdict for verdict in one.verdicts if not verdict.ok]
        yield f"  verification round {one.round}: {len(one.verdicts)} executed, {len(failed)} failed", ""
        for verdict in failed:
            yield f"    {verdict.path} ({verdict.kind})", "red"
            yield from _indented(verdict.report, "      ", "bright_black")


def _calls(episode: Episode) -> Iterator[Line]:
    for call in episode.calls:
        reply = call.reply
        yield f"=== call {call.request.call}: {call.request.purpose} ({reply.model})", "cyan"
        for message in call.request.messages:
            yield f"--- {message.role}", "magenta"
            yield message.content, ""
        yield (
            f"--- reply ({reply.finish_reason}, {reply.usage.prompt}+{reply.usage.completion} tokens)",
            "magenta",
        )
        yield reply.text, ""


def _indented(text: str, indent: str = "    ", colour: str = "") -> Iterator[Line]:
    for line in text.splitlines():
        yield indent + line, colour
