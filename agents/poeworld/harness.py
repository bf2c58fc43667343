"""Extractor and experts at work, inside the sandbox only: plain Python that travels there as text.

Answers are short texts, since little may be printed. A row holds what the experts say of one transition:
segments joined by ``;``, each a variable and the numbers of the experts that speak of it, ``-`` before
those that say no. ``s:1,-3`` is success; ``c7!:2`` says that expert 2 foresees a change of state of the
eighth object by name, ``!`` that it came; ``x:4`` that expert 4 raised.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

LETTERS = {"success": "s", "reward": "r", "state": "c", "location": "l"}
OF_OBJECTS = ("state", "location")
PRINTED = 3_000
"""Characters of all rows together, without what JSON adds."""
OBJECTS = 200
NAME, VALUE = 80, 120
CHANGED = 6
"""Changed objects of a transition that a row names, beside those that experts speak of."""
CLAIMED = 12
"""Objects of a transition that experts can speak of."""
TOLD = 24
"""Objects that are told as a text."""
PROBLEM = 100


def main(program: Mapping[str, Any], data: Any) -> Any:
    """Answer ``judge`` with rows, ``check`` with a word per text, ``tell`` with objects and changes."""
    extract = program.get("extract")
    if data["ask"] == "check":
        return [_checked(extract, text) for text in data["texts"]]
    see = _Sight(extract, data["texts"])
    if data["ask"] == "tell":
        return _told(see, data["cases"][0])
    experts = [(number, _loaded(code)) for number, code in enumerate(data["experts"], start=1)]
    rows: list[str] = []
    used = 0
    for case in data["cases"]:
        row = _row(see, experts, case)
        used += len(row) + 4
        if rows and used > PRINTED:
            break
        rows.append(row)
    return rows


# --- objects -----------------------------------------------------------------------------------


class _Sight:
    """The objects of each text, found once."""

    def __init__(self, extract: Any, texts: list[str]) -> None:
        self._extract = extract
        self._texts = texts
        self._found: dict[int, dict[str, Any]] = {}

    def objects(self, places: list[int], goal: int) -> dict[str, Any]:
        """Those of the first text in which the extractor finds any, else the lines of the first text."""
        found = next(filter(None, map(self.found, places)), None) or _lines(self._texts[places[0]])
        objects = {**found, "goal": {"type": "goal", "state": self._texts[goal], "location": ""}}
        return {name: MappingProxyType(one) for name, one in objects.items()}

    def found(self, place: int) -> dict[str, Any]:
        """What the extractor finds in one text."""
        if place not in self._found:
            try:
                self._found[place] = _objects(self._extract(self._texts[place])) if self._extract else {}
            except Exception:  # noqa: BLE001 -- the code may raise anything
                self._found[place] = {}
        return self._found[place]


def _objects(found: Any) -> dict[str, Any]:
    """What an extractor returned, in its full form: ``{name: {"type", "state", "location", …}}``."""
    objects: dict[str, Any] = {}
    for name, value in list(found.items())[:OBJECTS]:
        given = value if isinstance(value, dict) else {"type": value}
        attributes = {str(key): _plain(one) for key, one in given.items()}
        objects[str(name)[:NAME]] = {"type": "", "state": "", "location": "", **attributes}
    return objects


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else "" if value is None else str(value)[:VALUE]


def _lines(text: str) -> dict[str, Any]:
    """Without an extractor every line is an object, and its first word is the type."""
    lines = [line.strip(" \t-*") for line in text.splitlines()]
    return {
        line[:NAME]: {"type": line.split()[0][:VALUE], "state": "", "location": ""}
        for line in lines[:OBJECTS]
        if line
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    """(name, attribute) that differ. What is out of sight before or after has not changed."""
    return [
        (name, attribute)
        for name in sorted(before.keys() & after.keys())
        for attribute in OF_OBJECTS
        if before[name][attribute] != after[name][attribute]
    ]


def _transition(see: _Sight, case: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Objects before and what changed: nothing where the action is only thought of."""
    goal, places, _, place = case
    before = see.objects(places, goal)
    return before, [] if place is None else _changes(before, see.found(place))


def _checked(extract: Any, text: str) -> str:
    try:
        return str(len(_objects(extract(text))))
    except Exception as error:  # noqa: BLE001 -- the code may raise anything
        return f"!{_problem(error)}"


def _told(see: _Sight, case: Any) -> Any:
    """Lines on objects, those that changed first; and for each change its variable and a line."""
    before, changes = _transition(see, case)
    changed = {name for name, _ in changes}
    order = sorted(before, key=lambda name: name not in changed)[:TOLD]
    after = see.found(case[3])
    places = _places(before)
    lines = [
        (
            f"{LETTERS[attribute]}{places[name]}",
            f"{attribute} of {name!r}: {before[name][attribute]!r} -> {after[name][attribute]!r}",
        )
        for name, attribute in changes
    ]
    objects = [f"{name!r}: {dict(before[name])}" for name in order]
    return [_short(objects, PRINTED * 2 // 3), _short(lines, PRINTED // 3)]


def _places(objects: dict[str, Any]) -> dict[str, int]:
    return {name: place for place, name in enumerate(sorted(objects))}


def _short(lines: list[Any], most: int) -> list[Any]:
    while lines and len(json.dumps(lines)) > most:
        lines = lines[:-1]
    return lines


# --- experts -----------------------------------------------------------------------------------


def _loaded(code: str) -> Any:
    """The expert's function, or None where there is none."""
    space: dict[str, Any] = {"__name__": "expert", "print": lambda *values, **options: None}
    try:
        exec(compile(code, "expert.py", "exec"), space)  # noqa: S102 -- this module runs in the sandbox only
    except Exception:  # noqa: BLE001 -- the code may raise anything
        return None
    return space.get("expert")


def _row(see: _Sight, experts: list[tuple[int, Any]], case: Any) -> str:
    before, changes = _transition(see, case)
    places = _places(before)
    came = {f"{LETTERS[attribute]}{places[name]}" for name, attribute in changes}
    said: dict[str, list[str]] = {}
    raised: list[str] = []
    for number, expert in experts:
        try:
            claims = _claims(expert, before, case[2], places)
        except Exception:  # noqa: BLE001 -- the code may raise anything
            raised.append(str(number))
            continue
        for variable, holds in claims.items():
            said.setdefault(variable, []).append(str(number) if holds else f"-{number}")
    silent = sorted(came - said.keys())[:CHANGED]
    spoken = sorted(said, key=lambda variable: (variable not in "sr", variable not in came, variable))
    segments = [f"{one}{'!' * (one in came)}:{','.join(said.get(one, []))}" for one in (*spoken, *silent)]
    segments = [f"x:{','.join(raised)}", *segments[: CLAIMED + 2 + CHANGED]] if raised else segments
    while sum(map(len, segments)) + len(segments) > PRINTED:
        segments.pop()
    return ";".join(segments)


def _claims(
    expert: Callable[..., Any], objects: dict[str, Any], action: str, places: dict[str, int]
) -> dict[str, bool]:
    """Variable -> what the expert says of it. Whoever allows both values says nothing.

    Objects can only be read: whoever would change them raises.
    """
    said: dict[str, set[bool]] = {}
    for name, attribute, values in expert(dict(objects), action) or ():
        allowed = {value for value in _listed(values) if isinstance(value, bool)}
        if attribute in OF_OBJECTS and name in objects:
            said.setdefault(f"{LETTERS[attribute]}{places[name]}", set()).update(allowed)
        elif attribute in LETTERS and attribute not in OF_OBJECTS:
            said.setdefault(LETTERS[attribute], set()).update(allowed)
    clear = {variable: allowed.pop() for variable, allowed in said.items() if len(allowed) == 1}
    return dict(list(clear.items())[:CLAIMED])


def _listed(values: Any) -> Any:
    return values if isinstance(values, set | frozenset | list | tuple) else [values]


def _problem(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".encode("ascii", "replace").decode()[:PROBLEM]
