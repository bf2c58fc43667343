"""The product of experts: what it foresees, and the weights that fit best. Pure functions.

A variable is true or false. An expert that speaks of it gives what it says all but a small floor, and the
product over experts is ``p(v) ~ prior(v) * prod_i p_i(v) ** theta_i``: for two values, the logistic function
of a weighted vote.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from agents.poeworld.settings import PoeWorldSettings

FLOOR = 0.01
"""Probability that an expert leaves to what it excludes."""
USUAL = 0.9
"""Probability of what is usual, where no expert speaks: actions succeed, and nothing else comes of them."""
SUCCESS, REWARD = "success", "reward"
_VOTE = math.log((1 - FLOOR) / FLOOR)
_PRIOR = math.log(USUAL / (1 - USUAL))
_DECIMALS = 4
_PER = 1_000
"""Transitions that the objective is scaled to."""


class Vote(NamedTuple):
    """What one expert says of a variable."""

    expert: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """One thing that may come of an action."""

    attribute: str
    """``success``, ``reward``, or a change of an object's ``state`` or ``location``."""
    came: bool
    """Whether it did; False for an action that is only thought of."""
    votes: tuple[Vote, ...] = ()
    name: str = field(default="", compare=False)
    """Tells it from others of its transition, as the harness names it."""


def probability(variable: Variable, weights: Mapping[str, float]) -> float:
    """How probable it is that the variable is true."""
    vote = sum(weights[vote.expert] * (1 if vote.holds else -1) for vote in variable.votes)
    return float(expit(_prior(variable.attribute) + _VOTE * vote))


def likelihood(variables: Iterable[Variable], weights: Mapping[str, float]) -> float:
    """The probability of what was least expected in a transition, as it came."""
    found = ((probability(variable, weights), variable.came) for variable in variables)
    return min((foreseen if came else 1 - foreseen for foreseen, came in found), default=1.0)


def value(variables: Sequence[Variable], weights: Mapping[str, float]) -> float:
    """P(success) * (1 + P(reward)) of an action that is only thought of."""
    foreseen = {variable.attribute: probability(variable, weights) for variable in variables}
    return foreseen[SUCCESS] * (1 + foreseen[REWARD])


def _prior(attribute: str) -> float:
    return _PRIOR if attribute == SUCCESS else -_PRIOR


# --- fitting -----------------------------------------------------------------------------------


def fitted(
    transitions: Sequence[Iterable[Variable]], start: Mapping[str, float], settings: PoeWorldSettings
) -> dict[str, float]:
    """The weights of greatest likelihood, less an L1 price, by L-BFGS-B within bounds.

    Args:
        transitions: the variables of each.
        start: a first weight for every expert.
        settings: bounds and price.
    """
    names = sorted(start)
    tally = Counter(one for variables in transitions for one in variables if one.votes)
    if not names or not tally:
        return dict.fromkeys(names, 0.0)
    slopes, offsets, counts = _arrays(tally, names)
    scale = _PER / len(transitions)

    def objective(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = offsets + slopes @ theta
        loss = counts @ np.logaddexp(0.0, -margins)
        gradient = -(counts * expit(-margins)) @ slopes
        return scale * loss + settings.l1 * theta.sum(), scale * gradient + settings.l1

    first = np.array([start[name] for name in names])
    bounds = [(0.0, settings.theta_most)] * len(names)
    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return {name: round(float(theta), _DECIMALS) for name, theta in zip(names, found.x, strict=True)}


def _arrays(
    tally: Counter[Variable], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Slopes (variables, experts), offsets and counts (variables): the log-odds of what came."""
    place = {name: index for index, name in enumerate(names)}
    slopes = np.zeros((len(tally), len(names)))
    offsets = np.zeros(len(tally))
    for row, variable in enumerate(tally):
        sign = 1 if variable.came else -1
        offsets[row] = sign * _prior(variable.attribute)
        for vote in variable.votes:
            slopes[row, place[vote.expert]] += sign * (_VOTE if vote.holds else -_VOTE)
    return slopes, offsets, np.array(list(tally.values()), dtype=np.float64)


def kept(weights: Mapping[str, float], settings: PoeWorldSettings) -> dict[str, float]:
    """Weights of the experts that stay, by name: those with most weight, newer ones of equals."""
    useful = [name for name, theta in weights.items() if theta > settings.prune]
    best = sorted(useful, key=lambda name: (weights[name], number_of(name)), reverse=True)
    return {name: weights[name] for name in sorted(best[: settings.max_experts])}


def number_of(name: str) -> int:
    """The number at the end of an expert's name: greater for a newer one."""
    return int(name.rpartition("_")[2])
