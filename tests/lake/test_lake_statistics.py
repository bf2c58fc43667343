"""Intervals: frozen reference values, edges, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge_store.lake.statistics import IntervalKind, student_t_interval, wilson_interval


def test_student_t_against_a_textbook_value() -> None:
    found = student_t_interval([0.2, 0.4, 0.6])
    # mean 0.4, s = 0.2, t(0.975; 2) = 4.302653
    assert (found.mean, found.low, found.high) == pytest.approx((0.4, -0.0968276, 0.8968276), abs=1e-6)
    assert (found.n, found.df, found.kind) == (3, 2, IntervalKind.STUDENT_T)
    assert found.clipped(0.0, 1.0).low == 0.0


def test_wilson_against_published_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
    for successes, n, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ):
        found = wilson_interval(successes, n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    none, all_ = wilson_interval(0, 20), wilson_interval(29, 29)
    assert (none.low, none.high) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert (all_.low, all_.high) == pytest.approx((0.8830, 1.0), abs=5e-5)
    assert none.kind is IntervalKind.WITHIN_SEED


def test_edges_are_marked_and_never_nan() -> None:
    assert student_t_interval([]).kind is IntervalKind.UNKNOWN
    assert student_t_interval([]).mean is None
    one = student_t_interval([0.5])
    assert (one.mean, one.low, one.high, one.kind) == (0.5, None, None, IntervalKind.POINT)
    equal = student_t_interval([0.1, 0.1, 0.1])
    assert equal.low == equal.high == equal.mean == pytest.approx(0.1)
    assert equal.kind is IntervalKind.NO_SPREAD
    assert wilson_interval(0, 0).kind is IntervalKind.UNKNOWN


@pytest.mark.parametrize("values", [[0.1, float("nan")], [float("inf")], np.zeros((2, 2))])
def test_what_is_not_one_number_per_chain_is_refused(values: object) -> None:
    with pytest.raises(ValueError):
        student_t_interval(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        student_t_interval([0.1, 0.2], level)
    with pytest.raises(ValueError, match="level"):
        wilson_interval(1, 2, level)


def _sweeps(seeds: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Success counts (rounds, seeds) of 50 episodes whose rate differs between seeds; true mean 0.5."""
    draw = np.random.default_rng([2026, seeds])
    rates = np.clip(draw.normal(0.5, 0.12, (rounds, seeds)), 0, 1)
    counts = draw.binomial(50, rates)
    return counts, counts / 50


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_student_t_covers_what_it_says(seeds: int) -> None:
    _, rates = _sweeps(seeds, 4000)
    found = [student_t_interval(row) for row in rates]
    covered = sum(
        one.low is not None and one.high is not None and one.low <= 0.5 <= one.high for one in found
    )
    assert 0.93 <= covered / len(found) <= 0.97


def test_pooling_episodes_would_not_cover() -> None:
    counts, _ = _sweeps(3, 2000)
    found = [wilson_interval(int(total), 150) for total in counts.sum(axis=1)]
    covered = sum(
        one.low is not None and one.high is not None and one.low <= 0.5 <= one.high for one in found
    )
    assert covered / len(found) < 0.85
