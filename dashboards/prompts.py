"""How big the acting prompt is as episodes go by, and what acting and learning spend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dashboards.table import STAND_IN, STAND_IN_NOTE, markdown_line
from knowledge_store.lake.prompts import BUCKETS, PromptRow, Spending, bucket_label

_SIZES = "Left: mean tokens of an acting prompt in the episodes (from 0) that the head names, over seeds."
_WHEN = "per episode while acting, and to learn from it."
NOTE = f"{_SIZES} Right: calls and tokens (sent and received) {_WHEN}"
COSTLY_NOTE = f"{_SIZES} Right: calls, tokens (sent and received) and US dollars {_WHEN}"


def as_rich(rows: Sequence[PromptRow]) -> Group:
    """For the terminal: one section per environment and backbone, a row per method."""
    sections: dict[str, list[PromptRow]] = {} if rows else {"": []}
    for row in rows:
        cell = row.cell
        sections.setdefault(f"{cell.environment} {cell.task_set} · {cell.backbone}", []).append(row)
    tables = [_section(title, section) for title, section in sections.items()]
    tables[-1].caption = "\n".join(notes(rows, _costly(rows)))
    return Group(*tables)


def _section(title: str, rows: Sequence[PromptRow]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=0, caption_justify="left")
    present, costly = _buckets(rows), _costly(rows)
    table.add_column("method", min_width=10)
    for name in _titles(present, costly, "\n"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*map(Text, (row.cell.method, *_figures(row, present, costly))))
    return table


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
