"""``ocm check``: is the lake as it was written, and what is to be done if not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from flows.wording import counted

if TYPE_CHECKING:
    from knowledge_store.lake.checking.check import Watch
    from knowledge_store.lake.checking.findings import Finding, Place, Report

SHOWN = 5
"""Findings of one kind in one place that are printed; the rest is counted."""


@click.command()
@click.argument("sweeps", metavar="[SWEEP]...", nargs=-1)
@click.option(
    "--root",
    default="runs",
    show_default=True,
    help="Storage root: a folder, or a URL such as s3://BUCKET/PREFIX.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quick", is_flag=True, help="Listings, records and sizes only: no Parquet file is read.")
def check(sweeps: Sequence[str], root: str, form: str, quick: bool) -> int:
    """Check that the lake is as it was written: hashes, gaps, duplicates, orphans, schema.

    Reads only, and may run beside a sweep. Exit code 0: no committed data is damaged. 1: some is.
    """
    from knowledge_store.lake.checking import check as checking
    from knowledge_store.lake.checking.source import open_source

    began = time.monotonic()
    source = open_source(root)
    with watching() as watch:
        report = checking.check(source, sweeps, quick=quick, watch=watch)
    if form == "json":
        click.echo(json.dumps(_as_json(report), indent=2))
    else:
        for line in as_lines(report, time.monotonic() - began):
            click.echo(printable(line))
    return int(report.damaged)


@contextmanager
def watching() -> Iterator[Watch]:
    """A progress bar while something is checked; nothing where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("episodes", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def as_lines(report: Report, seconds: float) -> Iterator[str]:
    """The report as text: worst first, then counts, then what to do."""
    for place, findings in report.by_place():
        yield name_of(place, report.root)
        yield from _grouped(place, findings)
    counts = ", ".join(f"{number} {severity}" for severity, number in report.counts.most_common())
    how = " (quick: no Parquet file was read)" if report.quick else ""
    yield (
        f"{report.root}: {counted(report.sweeps, 'sweep')}, {counted(report.chains, 'chain')}, "
        f"{counted(report.episodes, 'episode')} checked"
        f" in {seconds:.1f} s{how}: {counts or 'nothing found'}"
    )
    yield _sentence(report)


def name_of(place: Place, root: str) -> str:
    """What a group of findings is about."""
    return "/".join(part for part in (place.sweep, place.chain) if part) or root


def printable(text: str) -> str:
    """A text without what would disturb a terminal; file names may hold anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _grouped(place: Place, findings: Sequence[Finding]) -> Iterator[str]:
    inside = f"{place.sweep}/chains/{place.chain}/" if place.chain else ""
    shown: dict[str, int] = {}
    for finding in findings:
        shown[finding.kind] = shown.get(finding.kind, 0) + 1
        if shown[finding.kind] <= SHOWN:
            yield f"  {finding.severity}: {finding.path.removeprefix(inside)}: {finding.what}; {finding.mend}"
    for kind, number in shown.items():
        if number > SHOWN:
            yield f"  and {number - SHOWN} more: {kind} (all of them with --format json)"


def _sentence(report: Report) -> str:
    mendable = sum(finding.repairable for _, finding in report.findings)
    lost = sum(finding.severity == "damage" and not finding.repairable for _, finding in report.findings)
    repair = f"`ocm repair` mends {mendable} of the findings" if mendable else ""
    if lost:
        restore = "restore what is damaged from a copy, or do what the findings say"
        return f"{restore}; {repair}." if repair else f"{restore}."
    if repair:
        return f"{repair}."
    return "No committed data is damaged; nothing is to be done."


def _as_json(report: Report) -> dict[str, object]:
    return {
        "root": report.root,
        "sweeps": report.sweeps,
        "chains": report.chains,
        "episodes": report.episodes,
        "quick": report.quick,
        "damaged": report.damaged,
        "findings": [
            {"sweep": place.sweep, "chain": place.chain, **asdict(finding)}
            for place, findings in report.by_place()
            for finding in findings
        ],
    }
