"""Intervals over seeds: plain functions on arrays.

**The independent unit is the chain (a seed), never the episode**: knowledge carries over, so the
episodes of a chain are not independent. Every function that makes an interval between seeds
therefore takes one number per chain. No result is ever NaN: what cannot be known is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy import special

Values = Sequence[float] | NDArray[np.float64]


class IntervalKind(StrEnum):
    """How far an interval's ends may be trusted."""

    STUDENT_T = "student_t"
    """Between seeds."""
    NO_SPREAD = "no_spread"
    """Between seeds, but all are equal: the width of zero says little."""
    WITHIN_SEED = "within_seed"
    """One seed only: spread between its episodes, nothing about other seeds."""
    POINT = "point"
    """One seed only, no interval."""
    UNKNOWN = "unknown"
    """No value: nothing was played, or a price is not known."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Seeds; for ``WITHIN_SEED`` the episodes of the one seed."""
    df: int | None
    """Degrees of freedom of Student's t; None for other kinds."""
    kind: IntervalKind

    def clipped(self, lowest: float | None, highest: float | None) -> Interval:
        """The same interval with ends that the measure can take, such as [0, 1] for a rate."""
        if self.low is None or self.high is None:
            return self
        low = self.low if lowest is None else max(lowest, self.low)
        high = self.high if highest is None else min(highest, self.high)
        return Interval(self.mean, low, high, self.n, self.df, self.kind)


UNKNOWN = Interval(None, None, None, 0, None, IntervalKind.UNKNOWN)


def student_t_interval(values: Values, level: float = 0.95) -> Interval:
    """Mean of per-chain values with Student's t interval.

    Args:
        values: (seeds,), one number per chain.
        level: confidence level in (0, 1).

    Returns:
        The interval; ``POINT`` for one seed, ``UNKNOWN`` for none.

    Raises:
        ValueError: a value is not finite, or the level is not in (0, 1).
    """
    array = _finite(values)
    _check_level(level)
    n = array.size
    if n == 0:
        return UNKNOWN
    mean = float(array.mean())
    if n == 1:
        return Interval(mean, None, None, 1, None, IntervalKind.POINT)
    if np.ptp(array) == 0:
        return Interval(mean, mean, mean, n, n - 1, IntervalKind.NO_SPREAD)
    quantile = float(special.stdtrit(n - 1, 0.5 + level / 2))
    half = quantile * float(array.std(ddof=1)) / n**0.5
    return Interval(mean, mean - half, mean + half, n, n - 1, IntervalKind.STUDENT_T)


def wilson_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for the success rate of **one** seed (Wilson, JASA 22, 1927).

    It treats the seed's ``n`` episodes as independent, which they are not: it says how well this seed
    was measured, nothing about another one. Hence its kind, ``WITHIN_SEED``.

    Raises:
        ValueError: not 0 <= successes <= n, or the level is not in (0, 1).
    """
    _check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"successes = {successes} must be between 0 and n = {n}")
    if n == 0:
        return UNKNOWN
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate, shrink = successes / n, 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / shrink
    half = z * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5 / shrink
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(rate, low, high, n, None, IntervalKind.WITHIN_SEED)


def _finite(values: Values) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"one number per chain is needed, not an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a value is not finite; leave chains without a value out")
    return array


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level = {level} must be between 0 and 1, such as 0.95")
