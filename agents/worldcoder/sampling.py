"""What of the replay buffer programs see, and what they are scored on.

A belief is rebuilt by replaying an episode's exchanges from its first observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agents.acting import malformed_observation
from agents.buffer import ACTION_CHARS, Played, cut
from ocm.types import Exchange, Observation

EPISODE_CHARS = 90_000
"""Characters of an episode's observations: with actions and program they have to fit into the sandbox."""


class Key(NamedTuple):
    """One transition: the episode's number and the step's 0-based index."""

    episode: int
    step: int


def so_far(
    first: Observation, exchanges: Sequence[Exchange], chars: int
) -> tuple[str, str, list[tuple[str, str]]]:
    """Goal, o0 and exchanges of an episode that is under way, cut like a finished one."""
    taken = [
        (cut(one.action, ACTION_CHARS), cut(one.observation, chars))
        for one in exchanges
        if one.observation != malformed_observation()
    ]
    return cut(first.goal, chars), cut(first.text, chars), taken


def room(steps: int, chars: int) -> int:
    """Characters for each observation of an episode of so many steps, at most ``chars``."""
    return min(chars, EPISODE_CHARS // max(1, steps))


def sample(episodes: Sequence[Played], wrong: frozenset[Key], cap: int) -> tuple[Key, ...]:
    """At most ``cap`` transitions in order: those that went wrong, then recent ones.

    Of equal (action, observation) pairs only one counts: a wrong one, else the last.
    """
    steps = {
        Key(played.number, index): step for played in episodes for index, step in enumerate(played.steps)
    }
    ranked = sorted(steps, key=lambda key: (key in wrong, key), reverse=True)
    distinct: dict[tuple[str, str], Key] = {}
    for key in ranked:
        distinct.setdefault((steps[key].action, steps[key].observation), key)
    return tuple(sorted(list(distinct.values())[:cap]))
