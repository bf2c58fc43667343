"""Games of our own, which need no data set: two of each type, in rooms that nobody has seen.

A file holds the task in words and the room with its goal in PDDL; domain and grammar are the package's.
``python -m envs.alfworld.make_games`` makes the files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from envs.alfworld import package
from envs.alfworld.game import Game

_FOLDER = "games"
_SUFFIX = ".toml"


@cache
def game_ids() -> Sequence[str]:
    """Their ids, sorted."""
    names = [entry.name for entry in (files("envs.alfworld") / _FOLDER).iterdir()]
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def game(game_id: str) -> Game:
    """The game of one of :func:`game_ids`, with the package's domain and grammar.

    Raises:
        SpecError: ALFWorld is not installed.
    """
    text = (files("envs.alfworld") / _FOLDER / f"{game_id}{_SUFFIX}").read_text("utf-8")
    written = tomllib.loads(text)
    return Game(
        pddl_domain=package.domain(),
        grammar=package.grammar().replace("UNKNOWN GOAL", written["task"]),
        pddl_problem=written["problem"],
    )
