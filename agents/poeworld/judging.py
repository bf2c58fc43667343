"""Experts put to use: what each says of each transition, as plain data that is checked like a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.execution import run
from agents.parsing import without_surrogates
from agents.poeworld import harness
from agents.poeworld.cases import Case
from agents.poeworld.weighing import REWARD, SUCCESS, Variable, Vote
from agents.protocol import Bench

TEXTS_WEIGHT, EXPERTS_WEIGHT = 80_000, 80_000
"""Characters of one execution's observations and experts: together below the sandbox's limit."""
CASES_AT_ONCE, EXPERTS_AT_ONCE = 60, 80
_SEGMENT = re.compile(
    r"(?:(?P<letter>[srcl])(?P<place>\d{0,3})(?P<came>!?)|x):(?P<votes>(?:-?\d{1,3}(?:,-?\d{1,3})*)?)",
    re.ASCII,
)
_ATTRIBUTES = {letter: attribute for attribute, letter in harness.LETTERS.items()}

Found = dict[tuple[str, str], tuple[bool, tuple[Vote, ...]]]
"""(letter, object's place) -> whether it came, and votes: one transition's row as read."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What experts say of transitions."""

    transitions: tuple[tuple[Variable, ...], ...]
    broken: frozenset[str] = field(default_factory=frozenset)
    """Experts that raised, or that could not be executed to the end."""


async def judged(bench: Bench, extractor: str, experts: Mapping[str, str], cases: Sequence[Case]) -> Judged:
    """Every expert on every case, as many in one execution as fit; a broken one is asked no more.

    An extractor with which no execution ends, with or without experts, is not used any more either: no
    expert is to blame for it.
    """
    found: list[Found] = [{} for _ in cases]
    broken: set[str] = set()
    for group in _groups(experts):
        position = 0
        while position < len(cases):
            batch = cases[position : position + _fitting(cases[position:])]
            sound = {name: code for name, code in group.items() if name not in broken}
            answer = await _asked(bench, extractor, sound, batch)
            if answer is None and extractor and await _asked(bench, extractor, {}, batch) is None:
                extractor = ""
                answer = await _asked(bench, extractor, sound, batch)
            rows, wrong = answer or await _halved(bench, extractor, sound, batch)
            for place, row in enumerate(rows, start=position):
                found[place] = _merged(found[place], row)
            broken |= wrong
            position += len(rows)
    return Judged(
        tuple(_variables(case, row) for case, row in zip(cases, found, strict=True)), frozenset(broken)
    )


async def _asked(
    bench: Bench, extractor: str, group: Mapping[str, str], batch: Sequence[Case]
) -> tuple[list[Found], set[str]] | None:
    """Rows of the first cases of a batch, one at least, and the experts that raised.

    None where the execution fails, or gives anything else.
    """
    names = list(group)
    data = {"ask": "judge", "experts": list(group.values()), **_shared(batch)}
    ran = await run(bench, "experts.py", extractor, harness, data)
    rows = ran.value
    if not isinstance(rows, list) or not 0 < len(rows) <= len(batch):
        return None
    read = [_read(row, names) for row in rows]
    good = [row for row, _ in read if row is not None]
    return (good, {name for _, wrong in read for name in wrong}) if len(good) == len(rows) else None


async def _halved(
    bench: Bench, extractor: str, group: Mapping[str, str], batch: Sequence[Case]
) -> tuple[list[Found], set[str]]:
    """The same where an execution failed: halves are asked, until the expert is found that is to blame."""
    names = list(group)
    if len(names) <= 1:
        return [{} for _ in batch], set(names)
    half = len(names) // 2
    parts = [{name: group[name] for name in some} for some in (names[:half], names[half:])]
    answers = [
        await _asked(bench, extractor, part, batch) or await _halved(bench, extractor, part, batch)
        for part in parts
    ]
    (left, wrong), (right, more) = answers
    return [_merged(*pair) for pair in zip(left, right, strict=False)], wrong | more


def _read(row: Any, names: Sequence[str]) -> tuple[Found | None, list[str]]:
    """A row, and the experts that raised; None where it is not of the form."""
    found: Found = {}
    raised: list[str] = []
    for segment in row.split(";") if isinstance(row, str) and row else ():
        match = _SEGMENT.fullmatch(segment)
        if match is None:
            return None, []
        numbers = [int(number) for number in match["votes"].split(",") if number]
        if not all(0 < abs(number) <= len(names) for number in numbers):
            return None, []
        if match["letter"] is None:
            raised += [names[abs(number) - 1] for number in numbers]
            continue
        votes = tuple(Vote(names[abs(number) - 1], number > 0) for number in numbers)
        found[match["letter"], match["place"]] = (bool(match["came"]), votes)
    return (found if isinstance(row, str) else None), raised


def _merged(row: Found, other: Found) -> Found:
    """What two groups of experts say of the same transition."""
    return {
        key: (came, (row[key][1] if key in row else ()) + (other[key][1] if key in other else ()))
        for source in (row, other)
        for key, (came, _) in source.items()
    }


def _variables(case: Case, row: Found) -> tuple[Variable, ...]:
    """Success and reward as the environment gave them, then what changed or was foreseen of objects."""
    own = {SUCCESS: bool(case.success), REWARD: bool(case.reward)}
    general = [
        Variable(attribute, came, row.get((harness.LETTERS[attribute], ""), (False, ()))[1])
        for attribute, came in own.items()
    ]
    objects = [
        Variable(_ATTRIBUTES[letter], came, votes, f"{letter}{place}")
        for (letter, place), (came, votes) in sorted(row.items())
        if place and letter in "cl"
    ]
    return (*general, *objects)


# --- other questions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a transition."""

    objects: tuple[str, ...] = ()
    """A line for each, at the beginning."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """Name of a variable -> a line."""


async def extractor_problem(bench: Bench, extractor: str, texts: Sequence[str]) -> str:
    """Why an extractor is no good for these observations; empty when it is.

    It may raise on none, and must find objects in half of them.
    """
    texts = list(dict.fromkeys(texts))
    texts = texts[: _fitting_texts(texts)]
    ran = await run(bench, "extractor.py", extractor, harness, {"ask": "check", "texts": texts})
    if ran.problem:
        return ran.problem
    counts = ran.value if isinstance(ran.value, list) else []
    if len(counts) != len(texts) or not all(isinstance(count, str) for count in counts):
        return "unreadable result"
    raised = next((count[1:] for count in counts if not count.isdigit()), "")
    empty = sum(count == "0" for count in counts)
    return raised or (f"no objects in {empty} of {len(texts)} observations" if 2 * empty > len(texts) else "")


async def told(bench: Bench, extractor: str, case: Case) -> Told:
    """A transition in lines; nothing where that cannot be executed."""
    ran = await run(bench, "extractor.py", extractor, harness, {"ask": "tell", **_shared([case])})
    value = ran.value
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, list) for part in value):
        return Told()
    objects, changes = value
    pairs = [pair for pair in changes if isinstance(pair, list) and len(pair) == 2]
    return Told(tuple(map(_line, objects)), {_line(name): _line(change) for name, change in pairs})


def _line(value: Any) -> str:
    """On one line, and without halves of surrogate pairs, which no prompt can hold."""
    return " ".join(without_surrogates(str(value)).split())


# --- what fits into one execution --------------------------------------------------------------


def _shared(batch: Sequence[Case]) -> dict[str, Any]:
    """Cases as the harness reads them, every text once."""
    texts = list(dict.fromkeys(text for case in batch for text in _texts(case)))
    place = {text: index for index, text in enumerate(texts)}
    cases = [
        (
            place[case.goal],
            [place[text] for text in case.before],
            case.action,
            None if case.after is None else place[case.after],
        )
        for case in batch
    ]
    return {"texts": texts, "cases": cases}


def _texts(case: Case) -> tuple[str, ...]:
    return (case.goal, *case.before, *(() if case.after is None else (case.after,)))


def _fitting(cases: Sequence[Case]) -> int:
    """How many of the first cases fit; one at least."""
    seen: set[str] = set()
    weight = 0
    for count, case in enumerate(cases[:CASES_AT_ONCE]):
        new = set(_texts(case)) - seen
        weight += sum(map(_weight, new)) + _weight(case.action)
        if count and weight > TEXTS_WEIGHT:
            return count
        seen |= new
    return min(len(cases), CASES_AT_ONCE)


def _fitting_texts(texts: Sequence[str]) -> int:
    weight = 0
    for count, text in enumerate(texts):
        weight += _weight(text)
        if count and weight > TEXTS_WEIGHT:
            return count
    return len(texts)


def _groups(experts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Experts by name, as many as fit; one empty group where there are none, since objects change too."""
    group: dict[str, str] = {}
    weight = 0
    for name, code in sorted(experts.items()):
        own = _weight(code)
        if group and (weight + own > EXPERTS_WEIGHT or len(group) == EXPERTS_AT_ONCE):
            yield group
            group, weight = {}, 0
        group[name] = code
        weight += own
    yield group


def _weight(value: Any) -> int:
    """Characters of a value in the executed text."""
    return len(repr(json.dumps(value)))
