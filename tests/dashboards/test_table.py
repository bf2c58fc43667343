"""The result table says what is an interval between seeds and what is not, and never NaN."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from dashboards import prompts
from dashboards.table import as_json, as_markdown, as_rich, interval, notes
from knowledge_store.lake.prompts import PromptRow, Spending
from knowledge_store.lake.results import MEASURES, Cell, CellResult
from knowledge_store.lake.statistics import UNKNOWN, Interval, student_t_interval, wilson_interval

T = student_t_interval([0.2, 0.4, 0.6])
ROW = CellResult(
    cell=Cell("ocm", "plancraft", "test.small", "scripted", None),
    seeds_done=3,
    seeds_planned=3,
    seeds_in_cell=3,
    episodes_done=60,
    episodes_planned=60,
    retried=0,
    measures={measure.name: T for measure in MEASURES},
)


def with_measure(name: str, value: Interval) -> CellResult:
    return replace(ROW, measures={**ROW.measures, name: value})


def drawn(*rows: CellResult, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(as_rich(rows, width))
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
    assert text.count("plancraft test.small") == 1
    third = replace(ROW, cell=ROW.cell._replace(backbone="gpt-4.1-mini"))
    assert drawn(ROW, third).count("gpt-4.1-mini") >= 1


def of(environment: str, method: str = "ocm", stratum: str | None = None) -> CellResult:
    return replace(ROW, cell=ROW.cell._replace(method=method, environment=environment, stratum=stratum))


def test_several_environments_are_sections_under_one_head() -> None:
    rows = [of(world, method) for method in ("ocm", "react") for world in ("plancraft", "alfworld")]
    words = [line.split()[0].strip("─") for line in drawn(*rows).splitlines() if line.strip()]
    first = ["plancraft", "episodes", "method", "", "ocm", "3/3", "react", "3/3"]
    assert words[:13] == [*first, "alfworld", "ocm", "3/3", "react", "3/3"]


def test_strata_stand_above_all_of_them_together_one_section_per_method() -> None:
    rows = [of("plancraft", m, s) for m in ("ocm", "react") for s in ("easy", "impossible", None)]
    text = drawn(*rows)
    assert "plancraft test.small · scripted · react" in text
    lines = [line.split()[0] for line in text.splitlines() if "60/60" in line]
    assert lines == ["easy", "impossible", "all"] * 2
    assert "| ocm | plancraft test.small | all | scripted |" in as_markdown(rows)


def test_a_stratum_of_some_seeds_is_marked() -> None:
    row = replace(of("plancraft", stratum="hard"), seeds_done=1, seeds_planned=1)
    assert "1/1 of 3" in drawn(row) and "1/1 of 3" in as_markdown([row])
    assert any("n/m of k" in note for note in notes([row]))
    assert not any("n/m of k" in note for note in notes([ROW]))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_nothing_is_cut_off(width: int) -> None:
    wide = {name: student_t_interval([10.0, 99.0, 60.0]) for name in ("malformed", "refused", "no_effect")}
    crowded = {**ROW.measures, **wide, "invalid_actions": student_t_interval([0.0, 290.0])}
    name = "inclined-plane-friction-unnamed_surfaces"
    row = replace(of("scienceworld", "ocm-no-verification", name), measures=crowded, retried=3)
    few = replace(row, episodes_done=1, seeds_done=1, seeds_planned=1)
    text = drawn(row, few, width=width)
    assert all(len(line) <= width for line in text.splitlines())
    for part in (*re.findall(".+?[-_]|.+$", name), "[-9.7, 89.7]", "145.00", "3 retried", "incomplete"):
        assert part in text
    assert "1/1 of 3" in text and "…" not in text


@pytest.mark.parametrize(
    ("width", "kept", "gone"),
    [
        (26, "SR %", "episodes"),
        (60, "reward", "invalid"),
        (80, "invalid", "tokens"),
        (100, "tokens", "steps"),
        (140, "steps", None),
    ],
)
def test_the_least_needed_columns_give_way_before_a_number_is_cut_off(
    width: int, kept: str, gone: str | None
) -> None:
    measures = {"invalid_actions": student_t_interval([0.0, 290.0]), "cost": student_t_interval([0.01])}
    row = replace(of("plancraft", "ocm-no-verification"), measures={**ROW.measures, **measures}, retried=3)
    table, _, told = drawn(row, width=width).partition("Mean over seeds")
    head, _, missing = table.partition("No room for")
    assert all(len(line) <= width for line in table.splitlines())
    assert "[-9.7, 89.7]" in head and "…" not in head and kept in head
    assert gone is None or gone not in head
    if width < 100:
        assert gone is not None and gone in missing
        assert "ocm results --format markdown has them." in " ".join(missing.split())
    for column, note in (("KB", "Memory:"), ("A.R.", "(A.R.)"), ("invalid", "Invalid actions")):
        assert (note in told) == (column in head)
    assert width < 100 or not missing


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


METHODS = ("ocm", "react", "reflexion", "expel", "awm", "asi", "worldcoder", "walle", "voyager")


def test_many_methods_fit_a_terminal_with_what_they_are_compared_by() -> None:
    rates = {method: student_t_interval([place / 20, place / 10]) for place, method in enumerate(METHODS)}
    shown = [
        replace(of("plancraft", method), measures={**ROW.measures, "success_rate": rate})
        for method, rate in rates.items()
    ]
    measures = {"tokens": 123_456.0, "memory_bytes": 24_012.0, "cost": 0.0123}
    rows = [
        replace(
            row, measures={**row.measures, **{name: student_t_interval([x]) for name, x in measures.items()}}
        )
        for row in shown
    ]
    text = drawn(*rows)
    assert all(len(line) <= 100 for line in text.splitlines())
    lines = [line.split() for line in text.splitlines() if line.split() and line.split()[0] in METHODS]
    assert [line[0] for line in lines] == list(METHODS)
    best, worst = lines[-1], lines[0]
    assert best[1] == "3.00" and worst[1] == "7.00"
    assert worst[-3:] == ["123,456", "24.0", "0.012"]
    assert "A.R." in text and "tokens" in text and "KB" in text and "invalid" in text and "reward" in text


def test_the_note_names_the_ranked_columns_and_who_has_no_rank() -> None:
    late = replace(of("plancraft", "react"), episodes_done=59)
    text = as_markdown([ROW, late])
    assert "over plancraft.success_rate, plancraft.reward; 1 is the best" in text
    assert "incomplete: react with scripted (plancraft.success_rate, plancraft.reward)" in text
    ranks = [row["average_rank"]["mean"] for row in as_json([ROW, late])]
    assert ranks == [1.0, None]


def test_the_prompt_table_has_a_column_for_each_bucket_that_was_played() -> None:
    spent = Spending(9.5, 12_345.0, None)
    row = PromptRow(ROW.cell, 30, {0: 500.0, 1: 812.4, 20: 3_000.0}, spent, Spending(0.0, 0.0, 0.0))
    waiting = PromptRow(ROW.cell._replace(method="react"), 0, {}, None, None)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(prompts.as_rich([row, waiting]))
    text = console.export_text()
    (line,) = (line for line in text.splitlines() if line.strip().startswith("ocm"))
    assert line.split()[1:] == ["500", "812", "3,000", "9.5", "12,345", "unknown", "0.0", "0", "0.0000"]
    assert "20-49" in text and "5-9" not in text
    assert "dollars" in text and "dollars" not in " ".join(prompts.notes([waiting], costly=False))
    assert "| react | plancraft test.small | scripted | 0 | – |" in prompts.as_markdown([row, waiting])
    first, second = json.loads(json.dumps(prompts.as_json([row, waiting])))
    assert first["acting_prompt_tokens"] == {"0": 500.0, "1-4": 812.4, "20-49": 3000.0}
    assert first["acting"]["cost"] is None and second["acting"] is None


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_the_prompt_table_goes_on_below_where_it_is_too_wide(width: int) -> None:
    sizes = {0: 500.0, 1: 812.0, 5: 1_222.0, 10: 11_333.0, 20: 13_000.0, 50: 14_000.0, 100: 15_000.0}
    cell = ROW.cell._replace(method="ocm-no-verification")
    row = PromptRow(cell, 120, sizes, Spending(9.5, 12_345.0, None), Spending(0.5, 99.0, 0.25))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(prompts.as_rich([row], width))
    text = console.export_text()
    lines = [line.split() for line in text.splitlines() if line.strip().startswith("ocm-no-verification")]
    spent = ["9.5", "12,345", "unknown", "0.5", "99", "0.2500"]
    assert [one for line in lines for one in line[1:]] == [
        *(f"{size:,.0f}" for size in sizes.values()),
        *spent,
    ]
    assert len(lines) == {40: 6, 60: 3, 80: 2, 100: 2, 140: 1}[width] and "…" not in text


def test_an_empty_table_is_a_table() -> None:
    assert "method" in drawn()
