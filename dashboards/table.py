"""The result table of a sweep: for the terminal, for Markdown, for machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_store.lake.ranks import Ranking, rank
from knowledge_store.lake.results import CellResult
from knowledge_store.lake.statistics import Interval, IntervalKind

WIDE = 100
"""Columns of a terminal that show what a comparison needs."""
WIDEST = 130
"""Those that show everything."""
PLAYED, RANK, INVALID, MEMORY = "episodes\nseeds", "A.R.", "invalid", "memory\nKB"
LEAST_NEEDED: Mapping[str, int] = {
    "malf+ref+no eff": WIDEST,
    "steps": WIDEST,
    MEMORY: WIDE,
    "tokens": WIDE,
    "$/ep": 0,
    INVALID: 0,
    "reward": 0,
    RANK: 0,
    "df": 0,
    PLAYED: 0,
}
"""Columns that give way on a terminal, in this order, and the width below which each is never there."""
LONGEST, SHORTEST = 19, 10
"""Characters of a method's or stratum's name on one line; the fewer, the less room the figures leave."""
ALL_STRATA = "all"
"""How a cell's own row is called below those of its strata."""
STAND_IN = "scripted"
STAND_IN_NOTE = (
    "scripted is an embedded rule-based stand-in, not a language model: its figures say that the system "
    "works, not how good a method is."
)
WITHIN_SEED_NOTE = (
    "within seed: Wilson's interval over the episodes of one seed; it says nothing about other seeds."
)
SOME_SEEDS_NOTE = (
    "n/m of k: only m of the k seeds play tasks of this stratum, since a limit takes the first tasks of a "
    "shuffled order; the mean is over those."
)
INTERVAL_NOTE = (
    "Mean over seeds with a 95 % Student-t interval and its degrees of freedom (df); the chain (a seed) "
    "is the independent unit."
)
INVALID_NOTE = "Invalid actions are per episode: malformed + refused + no effect."
MEMORY_NOTE = "Memory: all that a method keeps after the last episode, its store included; KB of 1,000 bytes."


class Column(NamedTuple):
    title: str
    text: Callable[[CellResult], str]
    justify: Literal["left", "center", "right"] = "left"


METHOD = Column("method", lambda row: row.cell.method)
ENVIRONMENT = Column("environment", lambda row: f"{row.cell.environment} {row.cell.task_set}")
BACKBONE = Column("backbone", lambda row: row.cell.backbone)
STRATUM = Column("stratum", lambda row: row.cell.stratum or ALL_STRATA)


def columns(ranking: Ranking, strata: bool = False) -> tuple[Column, ...]:
    """All columns, in order, one line per row."""
    return (
        METHOD,
        ENVIRONMENT,
        *((STRATUM,) if strata else ()),
        BACKBONE,
        Column("average rank", lambda row: average_rank(row, ranking)),
        Column("seeds", _seeds),
        Column("episodes", _episodes),
        Column("SR %", lambda row: interval(row.measures["success_rate"], 100, 1)),
        Column("reward", lambda row: interval(row.measures["reward"], 1, 3)),
        Column("invalid actions", lambda row: interval(row.measures["invalid_actions"], 1, 2)),
        Column("malf + ref + no eff", _categories),
        Column("steps", lambda row: number(row.measures["steps"], 1)),
        Column("rehearsal steps", lambda row: number(row.measures["rehearsal_steps"], 1)),
        Column("calls", lambda row: number(row.measures["calls"], 1)),
        Column("acting prompt tokens", lambda row: number(row.measures["acting_prompt_tokens"], 0)),
        Column("tokens", lambda row: number(row.measures["tokens"], 0)),
        Column("memory KB", _memory),
        Column("cost $/episode", lambda row: number(row.measures["cost"], 4)),
    )


def _seeds(row: CellResult) -> str:
    some = f" of {row.seeds_in_cell}" if row.seeds_planned < row.seeds_in_cell else ""
    return f"{row.seeds_done}/{row.seeds_planned}{some}"


def _episodes(row: CellResult) -> str:
    if row.episodes_planned is None:
        return str(row.episodes_done)
    mark = "" if row.complete else " incomplete"
    retried = f", {row.retried} retried" if row.retried else ""
    return f"{row.episodes_done}/{row.episodes_planned}{mark}{retried}"


def _categories(row: CellResult) -> str:
    return " + ".join(number(row.measures[name], 2) for name in ("malformed", "refused", "no_effect"))


def _memory(row: CellResult) -> str:
    return number(row.measures["memory_bytes"], 1, scale=1e-3)


def average_rank(row: CellResult, ranking: Ranking) -> str:
    """The method's average rank within the row's backbone; a dash where a ranked cell is incomplete."""
    if row.cell.stratum is not None:
        return ""
    mean = ranking.by[row.cell.backbone, row.cell.method].mean
    return "–" if mean is None else f"{mean:.2f}"


def interval(value: Interval, scale: float, digits: int) -> str:
    """``mean [low, high] df n``; marks what is not an interval between seeds."""
    if value.mean is None:
        return "–"
    mean = f"{value.mean * scale:.{digits}f}"
    if value.kind is IntervalKind.NO_SPREAD:
        return f"{mean} [no spread] df {value.df}"
    if value.low is None or value.high is None:
        return f"{mean} (one seed)"
    ends = f"[{value.low * scale:.{digits}f}, {value.high * scale:.{digits}f}]"
    if value.kind is IntervalKind.WITHIN_SEED:
        return f"{mean} {ends} within seed"
    return f"{mean} {ends} df {value.df}"


def number(value: Interval, digits: int, scale: float = 1) -> str:
    """The mean alone."""
    return "unknown" if value.mean is None else f"{value.mean * scale:,.{digits}f}"


def notes(
    rows: Sequence[CellResult],
    ranking: Ranking | None = None,
    shown: Container[str] = (RANK, INVALID, MEMORY),
) -> list[str]:
    """What must be read with the table, of whose columns some are ``shown``."""
    found = [f"{INTERVAL_NOTE} {INVALID_NOTE}" if INVALID in shown else INTERVAL_NOTE]
    if MEMORY in shown:
        found.append(MEMORY_NOTE)
    if RANK in shown:
        found += rank_notes(ranking or rank(rows))
    if any(one.kind is IntervalKind.WITHIN_SEED for row in rows for one in row.measures.values()):
        found.append(WITHIN_SEED_NOTE)
    if any(row.seeds_planned < row.seeds_in_cell for row in rows):
        found.append(SOME_SEEDS_NOTE)
    if any(row.cell.backbone == STAND_IN for row in rows):
        found.append(STAND_IN_NOTE)
    return found


def rank_notes(ranking: Ranking) -> list[str]:
    """What the average rank is over, and who has none."""
    if not ranking.by:
        return []
    found = [
        f"Average rank (A.R.): within one backbone, over {', '.join(ranking.columns)}; 1 is the best, ties "
        "share the mean of their ranks."
    ]
    missing = [
        f"{method} with {backbone} ({', '.join(one.incomplete)})"
        for (backbone, method), one in ranking.by.items()
        if one.incomplete
    ]
    if missing:
        found.append(
            f"Not ranked, nor counted in the ranks of others, as cells are incomplete: {'; '.join(missing)}."
        )
    return found


def _has_strata(rows: Sequence[CellResult]) -> bool:
    return any(row.cell.stratum is not None for row in rows)


def as_rich(rows: Sequence[CellResult], width: int = WIDE, ranking: Ranking | None = None) -> Group:
    """For the terminal: means with their intervals below, one section per environment and backbone.

    The rows of a section are methods; with strata, each method has a section and its rows are strata.

    Args:
        rows: the results table.
        width: columns of the terminal; the fewer, the fewer figures.
        ranking: average ranks; by default over success rate and reward of each environment.
    """
    ranking = ranking or rank(rows)
    by_stratum = _has_strata(rows)
    head = STRATUM if by_stratum else METHOD
    known = _compact(_costly(rows), None if by_stratum else ranking)
    figures = _fitting(known, width, min(SHORTEST, _width(head, rows)), rows)
    shown = (_folded(head, _room(figures, width, rows)), *figures)
    widths = [_width(column, rows) for column in shown]
    tables: list[Table] = []
    for title, section in _sections(rows, by_method=by_stratum).items():
        table = Table(title=title, box=SIMPLE_HEAD, padding=0, show_header=not tables, caption_justify="left")
        for column, least in zip(shown, widths, strict=True):
            table.add_column(column.title, justify=column.justify, min_width=least)
        for row in section:
            table.add_row(*(Text(column.text(row)) for column in shown))
        tables.append(table)
    told = notes(rows, ranking, [column.title for column in figures])
    tables[-1].caption = "\n".join([*_missing(known, figures), *told])
    return Group(*tables)


def _missing(known: Sequence[Column], shown: Sequence[Column]) -> list[str]:
    """A line that says where the other columns are, if more is missing than the details of wide terminals."""
    gone = [column.title for column in known if column not in shown]
    if all(LEAST_NEEDED[title] == WIDEST for title in gone):
        return []
    names = ", ".join(gone).replace("\n", " ")
    return [f"No room for {names}: ocm results --format markdown has them."]


def _sections(rows: Sequence[CellResult], by_method: bool) -> dict[str, list[CellResult]]:
    """The rows by what they share, environments first: the rows to compare stand together."""
    parts = (ENVIRONMENT, BACKBONE, *((METHOD,) if by_method else ()))
    firsts = [list(dict.fromkeys(map(part.text, rows))) for part in parts]

    def places(row: CellResult) -> list[int]:
        return [first.index(part.text(row)) for part, first in zip(parts, firsts, strict=True)]

    sections: dict[str, list[CellResult]] = {} if rows else {"": []}
    for row in sorted(rows, key=places):
        sections.setdefault(" · ".join(part.text(row) for part in parts), []).append(row)
    return sections


def _folded(column: Column, room: int) -> Column:
    """The same with names that fit: on several lines, broken behind a ``-`` or ``_`` if they have one."""
    most = max(SHORTEST, min(LONGEST, room))
    lines = re.compile(rf".{{1,{most}}}$|.{{1,{most - 1}}}[-_]|.{{1,{most}}}")
    return column._replace(text=lambda row: "\n".join(lines.findall(column.text(row))))


def _width(column: Column, rows: Sequence[CellResult]) -> int:
    """That of the longest line of the column."""
    cells = (column.title, *map(column.text, rows))
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _packed_categories(row: CellResult) -> str:
    return _categories(row).replace(" ", "")


def _room(figures: Sequence[Column], width: int, rows: Sequence[CellResult]) -> int:
    """What the figures leave for names."""
    return width - sum(_width(column, rows) + 1 for column in figures) - 2


def _fitting(
    figures: Sequence[Column], width: int, name: int, rows: Sequence[CellResult]
) -> tuple[Column, ...]:
    """Those for which there is room beside names of some characters: a number is never cut off."""
    shown = [column for column in figures if width >= LEAST_NEEDED.get(column.title, 0)]
    for title in LEAST_NEEDED:
        if _room(shown, width, rows) >= name:
            break
        shown = [column for column in shown if column.title != title]
    return tuple(shown)


def _compact(costly: bool, ranking: Ranking | None) -> tuple[Column, ...]:
    """The figures that a terminal shows where it is wide enough."""
    ranks = (Column(RANK, lambda row: average_rank(row, ranking), "right"),) if ranking else ()
    return (
        *ranks,
        Column(PLAYED, _played, "right"),
        Column("df", lambda row: _degrees(row.measures["success_rate"]), "right"),
        Column("SR %", lambda row: below(row.measures["success_rate"], 100, 1), "center"),
        Column("reward", lambda row: below(row.measures["reward"], 1, 2), "center"),
        Column(INVALID, lambda row: below(row.measures["invalid_actions"], 1, 2), "center"),
        Column("malf+ref+no eff", _packed_categories, "center"),
        Column("steps", lambda row: number(row.measures["steps"], 1), "right"),
        Column("tokens", lambda row: number(row.measures["tokens"], 0), "right"),
        Column(MEMORY, _memory, "right"),
        *((Column("$/ep", lambda row: number(row.measures["cost"], 3), "right"),) if costly else ()),
    )


def _played(row: CellResult) -> str:
    episodes = re.sub(r",? (?=incomplete|\d+ retried)", "\n", _episodes(row))
    return f"{episodes}\n{_seeds(row)}"


def _degrees(value: Interval) -> str:
    return "–" if value.df is None else str(value.df)


def _costly(rows: Sequence[CellResult]) -> bool:
    return any(row.measures["cost"].mean != 0 and row.episodes_done for row in rows)


def below(value: Interval, scale: float, digits: int) -> str:
    """The mean, and its interval on the lines below; degrees of freedom have a column of their own."""
    text = re.sub(r" df \d+$", "", interval(value, scale, digits))
    return re.sub(r" (?=\[|\(|within)", "\n", text)


def as_markdown(rows: Sequence[CellResult], ranking: Ranking | None = None) -> str:
    """For Prefect, MLflow and documents; ``ranking`` as in :func:`as_rich`."""
    ranking = ranking or rank(rows)
    shown = columns(ranking, _has_strata(rows))
    titles = [column.title for column in shown]
    lines = [markdown_line(titles), markdown_line(["---"] * len(titles))]
    lines += [markdown_line([column.text(row) for column in shown]) for row in rows]
    return "\n".join([*lines, "", *notes(rows, ranking)])


def markdown_line(cells: Sequence[str]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_json(rows: Sequence[CellResult], ranking: Ranking | None = None) -> list[dict[str, Any]]:
    """For machines: every measure with its interval, and the method's ranks within the backbone."""
    ranking = ranking or rank(rows)
    return [
        {
            **row.cell._asdict(),
            "average_rank": asdict(ranking.by[row.cell.backbone, row.cell.method]),
            "seeds_done": row.seeds_done,
            "seeds_planned": row.seeds_planned,
            "seeds_in_cell": row.seeds_in_cell,
            "episodes_done": row.episodes_done,
            "episodes_planned": row.episodes_planned,
            "retried": row.retried,
            "measures": {name: asdict(value) for name, value in row.measures.items()},
        }
        for row in rows
    ]
