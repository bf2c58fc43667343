"""Every change to the packages of the engine, in one place: what is done again and again is remembered.

The texts, commands and outcomes are the same with and without (tested by a digest of transcripts). On the
benchmark's games a step takes 9 ms instead of 150, a start 0.8 s instead of 3.8 (CPU time, busy machine).

* The parser of the grammar reads the same thirty templates at every step: its results are kept and copied.
* The queries in the grammar are parsed each time: they are kept. They are never changed.
* A context is copied deep for every symbol, though nobody changes what is in it: copied flat.
* The problem is translated four times per game, twice of it for the planner: once, and the planner's
  translation is not loaded, since nobody asks for plans here. The translator also leaves ``sys.argv``
  overwritten.
* ``textworld.logic`` keeps every proposition of every game for ever, by way of ``mementos``, about 0.9 MB
  a game: those of past games are dropped. Propositions are compared by value.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

REMEMBERED = 1024
"""Templates and queries; the games have some hundred, and each game one of its own: its goal."""


@cache
def apply_patches() -> None:
    """Put the changes in place; once per process."""
    import fast_downward
    from textworld.envs.pddl import textgen
    from textworld.logic import Rule

    parse = lru_cache(REMEMBERED)(textgen._parse_and_convert)
    translate = lru_cache(1)(fast_downward.pddl2sas)

    def parsed(text: str, rule_name: str, trace: bool = False) -> Any:
        return deepcopy(parse(text, rule_name=rule_name, trace=trace))

    def translated(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
        with _argv_kept():
            return translate(domain, problem)

    textgen._parse_and_convert = parsed
    textgen.copy_context = _copied
    textgen.Rule = SimpleNamespace(
        parse_conjunctive_query=lru_cache(REMEMBERED)(Rule.parse_conjunctive_query)
    )
    fast_downward.pddl2sas = translated


def without_planner(library: Any) -> None:
    """Let a loaded engine library not build its planner's copy of a problem."""
    library.load_sas_replan = lambda problem: None


def forget_propositions() -> None:
    """Drop the propositions that ``textworld.logic`` keeps."""
    from mementos import core
    from textworld.logic import Proposition

    kept = core._memento_cache
    for key in [key for key in kept if key[0] is Proposition]:
        del kept[key]


def _copied(context: Mapping[str, Any]) -> dict[str, Any]:
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


@contextmanager
def _argv_kept() -> Iterator[None]:
    argv = sys.argv
    try:
        yield
    finally:
        sys.argv = argv
