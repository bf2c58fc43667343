"""The result table says what is an interval between seeds and what is not, and never NaN."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from dashboards.table import as_json, as_markdown, as_rich, interval, notes
from knowledge_store.lake.results import MEASURES, Cell, CellResult
from knowledge_store.lake.statistics import UNKNOWN, Interval, student_t_interval, wilson_interval

T = student_t_interval([0.2, 0.4, 0.6])
ROW = CellResult(
    cell=Cell("ocm", "plancraft", "test.small", "scripted", None),
    seeds_done=3,
    seeds_planned=3,
    episodes_done=60,
    episodes_planned=60,
    retried=0,
    measures={measure.name: T for measure in MEASURES},
)


def with_measure(name: str, value: Interval) -> CellResult:
    return replace(ROW, measures={**ROW.measures, name: value})


def drawn(*rows: CellResult, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(as_rich(rows))
    return console.export_text()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T, "40.0 [-9.7, 89.7] df 2"),
        (student_t_interval([0.5, 0.5]), "50.0 [no spread] df 1"),
        (student_t_interval([0.5]), "50.0 (one seed)"),
        (wilson_interval(1, 2), "50.0 [9.5, 90.5] within seed"),
        (UNKNOWN, "–"),
    ],
)
def test_intervals_in_words(value: Interval, expected: str) -> None:
    assert interval(value, 100, 1) == expected


def test_incomplete_and_retried_cells_are_marked() -> None:
    row = replace(ROW, episodes_done=59, retried=2)
    assert "59/60 incomplete, 2 retried" in as_markdown([row])
    assert "incomplete" in drawn(row)


def test_an_unknown_cost_is_never_zero() -> None:
    row = with_measure("cost", UNKNOWN)
    assert "| unknown |" in as_markdown([row])
    assert "unknown" in drawn(row)
    assert as_json([row])[0]["measures"]["cost"]["mean"] is None


def test_what_all_rows_share_is_the_title() -> None:
    other = replace(ROW, cell=ROW.cell._replace(method="react"))
    text = drawn(ROW, other)
    assert "plancraft test.small · scripted" in text
    assert text.count("plancraft") == 1
    third = replace(ROW, cell=ROW.cell._replace(backbone="gpt-4.1-mini"))
    assert drawn(ROW, third).count("gpt-4.1-mini") >= 1


def test_the_stand_in_and_one_seed_are_named_as_such() -> None:
    assert any("not a language model" in note for note in notes([ROW]))
    real = replace(ROW, cell=ROW.cell._replace(backbone="gpt-4.1-mini"))
    assert not any("not a language model" in note for note in notes([real]))
    alone = with_measure("success_rate", wilson_interval(1, 2))
    assert any("Wilson" in note for note in notes([alone]))


def test_markdown_has_one_line_per_row_and_escapes_bars() -> None:
    row = replace(ROW, cell=ROW.cell._replace(method="a|b"))
    lines = as_markdown([row, ROW]).splitlines()
    assert lines[2].startswith("| a\\|b |")
    assert len({line.replace("\\|", "").count("|") for line in lines[:4]}) == 1


def test_json_is_json() -> None:
    assert json.loads(json.dumps(as_json([ROW])))[0]["method"] == "ocm"


def test_an_empty_table_is_a_table() -> None:
    assert "method" in drawn()
