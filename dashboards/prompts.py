"""How big the acting prompt is as episodes go by, and what acting and learning spend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dashboards.table import STAND_IN, STAND_IN_NOTE, WIDE, markdown_line
from knowledge_store.lake.prompts import BUCKETS, PromptRow, Spending, bucket_label

_SIZES = "First: mean tokens of an acting prompt in the episodes (from 0) that the head names, over seeds."
_WHEN = "per episode while acting, and to learn from it."
NOTE = f"{_SIZES} Then: calls and tokens (sent and received) {_WHEN}"
COSTLY_NOTE = f"{_SIZES} Then: calls, tokens (sent and received) and US dollars {_WHEN}"


def as_rich(rows: Sequence[PromptRow], width: int = WIDE) -> Group:
    """For a terminal of some columns: one section per environment and backbone, a row per method.

    A section that is too wide goes on in a table below, so that no number is cut off.
    """
    sections: dict[str, list[PromptRow]] = {} if rows else {"": []}
    for row in rows:
        cell = row.cell
        sections.setdefault(f"{cell.environment} {cell.task_set} · {cell.backbone}", []).append(row)
    tables = [table for title, section in sections.items() for table in _section(title, section, width)]
    return Group(*tables, Text("\n".join(notes(rows, _costly(rows))), "table.caption"))


def _section(title: str, rows: Sequence[PromptRow], width: int) -> list[Table]:
    present, costly = _buckets(rows), _costly(rows)
    names = ("method", *(row.cell.method for row in rows))
    columns = list(
        zip(_titles(present, costly, "\n"), *(_figures(row, present, costly) for row in rows), strict=True)
    )
    tables = []
    for part in _parts([_width(column) for column in columns], width - _width(names) - 2):
        table = Table(title=title, box=SIMPLE_HEAD, padding=0)
        table.add_column(names[0])
        for head, *_ in columns[part]:
            table.add_column(head, justify="right")
        for line in zip(names[1:], *(figures for _, *figures in columns[part]), strict=True):
            table.add_row(*map(Text, line))
        tables.append(table)
    return tables


def _width(cells: Sequence[str]) -> int:
    """That of the longest line."""
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _parts(widths: Sequence[int], room: int) -> list[slice]:
    """As few runs of columns as fit the room, each column with a gap before it; one column at least."""
    starts, used = [0], 0
    for place, width in enumerate(widths):
        if used and used + width + 1 > room:
            starts.append(place)
            used = 0
        used += width + 1
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(widths)], strict=True)]


def _buckets(rows: Sequence[PromptRow]) -> list[int]:
    """Those in which some method has played."""
    return [start for start in BUCKETS if any(start in row.prompt_tokens for row in rows)]


def _costly(rows: Sequence[PromptRow]) -> bool:
    return any(one.cost != 0 for row in rows for one in (row.acting, row.learning) if one is not None)


def _titles(present: Sequence[int], costly: bool, gap: str) -> list[str]:
    spending = ["calls", "tokens", *(["$"] if costly else [])]
    return [
        *map(bucket_label, present),
        *(f"{kind}{gap}{one}" for kind in ("act", "learn") for one in spending),
    ]


def _figures(row: PromptRow, present: Sequence[int], costly: bool) -> list[str]:
    sizes = [f"{row.prompt_tokens[start]:,.0f}" if start in row.prompt_tokens else "–" for start in present]
    return [*sizes, *_spent(row.acting, costly), *_spent(row.learning, costly)]


def _spent(one: Spending | None, costly: bool) -> list[str]:
    if one is None:
        return ["–"] * (3 if costly else 2)
    cost = "unknown" if one.cost is None else f"{one.cost:.4f}"
    return [f"{one.calls:,.1f}", f"{one.tokens:,.0f}", *([cost] if costly else [])]


def notes(rows: Sequence[PromptRow], costly: bool) -> list[str]:
    """What must be read with the table, which shows what was paid where it is ``costly``."""
    scripted = any(row.cell.backbone == STAND_IN for row in rows)
    return [COSTLY_NOTE if costly else NOTE, *([STAND_IN_NOTE] if scripted else [])]


def as_markdown(rows: Sequence[PromptRow]) -> str:
    """For documents: one table, with a column for each bucket in which any method has played."""
    present = _buckets(rows)
    titles = ["method", "environment", "backbone", "episodes", *_titles(present, True, " ")]
    lines = [markdown_line(titles), markdown_line(["---"] * len(titles))]
    for row in rows:
        cell = row.cell
        names = [cell.method, f"{cell.environment} {cell.task_set}", cell.backbone, str(row.episodes_done)]
        lines.append(markdown_line([*names, *_figures(row, present, True)]))
    return "\n".join([*lines, "", *notes(rows, True)])


def as_json(rows: Sequence[PromptRow]) -> list[dict[str, Any]]:
    """For machines."""
    return [
        {
            **{name: value for name, value in row.cell._asdict().items() if name != "stratum"},
            "episodes_done": row.episodes_done,
            "acting_prompt_tokens": {bucket_label(start): size for start, size in row.prompt_tokens.items()},
            "acting": None if row.acting is None else row.acting._asdict(),
            "learning": None if row.learning is None else row.learning._asdict(),
        }
        for row in rows
    ]
