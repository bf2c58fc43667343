"""AWM: workflows from a success, and fewer from too many. On PlanCraft they state what was seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.names import kind
from backbones.scripted.plancraft.facts import Way
from backbones.scripted.plancraft.routines import brief_step_of, steps_of
from backbones.scripted.plancraft.sentences import stated_in
from backbones.scripted.players import player_of
from backbones.scripted.report import Report, read_report
from ocm.types import Request

_MOST = re.compile(r"at most (\d+) workflows")
_LONGEST = re.compile(r"to (\d+) steps")
_BLOCK = re.compile(r"^## ", re.MULTILINE)
ROOM = 3_500
"""Characters of a workflow that was merged: less than what is kept of one."""
LAST = 8
"""Actions before a success that a workflow holds where there is no routine to tell."""
NONE = "NO WORKFLOWS"


def _induce(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    player = player_of(report.opening)
    if player is None:
        return ""
    ways = [way for sentence in player.tell(report) for way in stated_in(sentence).ways()]
    new = {_name(way): _making(way) for way in reversed(ways) if _what(way) not in report.known}
    blocks = list(reversed(new.values())) if ways else _as_played(report)
    return "\n".join(blocks[: _number(_MOST, request)]) or NONE


def _consolidate(request: Request, error_rate: float) -> str:
    """One workflow for each kind of product; in other environments the newest are kept."""
    known, most = read_report(request.messages).known, _number(_MOST, request)
    ways = list(stated_in(known).ways())
    if not ways:
        return "".join(f"## {block}" for block in _BLOCK.split(known)[1:][-most:])
    return "\n".join(_merged(ways, most, _number(_LONGEST, request)))


def _making(way: Way) -> str:
    return _block(_name(way), f"what is needed is {_what(way)}", steps_of(way))


def _name(way: Way) -> str:
    return f"smelt {way.smelted}" if way.smelted else f"craft {way.product}"


def _what(way: Way) -> str:
    return f"{way.product} from {' and '.join(way.ingredients())}"


def _as_played(report: Report) -> list[str]:
    """The end of the episode itself, where there is no routine to tell."""
    goal = _brief(report.goal).rstrip(" .")
    seen = [report.first, *(line.observation for line in report.lines)]
    pairs = [(before, line.action) for before, line in zip(seen, report.lines, strict=False) if line.action]
    steps = (f"{_brief(before)} -> it leads on -> {action}" for before, action in pairs[-LAST:])
    is_new = len(pairs) > 1 and f"- {goal}:" not in report.known
    return [_block(goal, "the task is like this one", steps)] if is_new else []


def _brief(text: str) -> str:
    return " ".join(text.replace("->", " ").split())[:80] or "nothing new"


def _merged(ways: Sequence[Way], most: int, longest: int) -> Iterable[str]:
    """Workflows for the kinds of products with the most ways; the last one holds what is left."""
    by_kind: dict[str, list[Way]] = {}
    for way in ways:
        by_kind.setdefault(kind(way.product), []).append(way)
    several = sorted(
        (word for word in by_kind if len(by_kind[word]) > 1), key=lambda word: -len(by_kind[word])
    )
    named = several[: most - 1]
    rest = [way for word, group in by_kind.items() if word not in named for way in group]
    for word in named:
        yield _together(f"make {word}", by_kind[word], longest)
    if len(rest) > 1:
        yield _together("make other things", rest, longest)


def _together(name: str, ways: Sequence[Way], longest: int) -> str:
    """One workflow for several ways, the last of them where there is no room for all."""
    for first in range(max(0, len(ways) - longest), len(ways)):
        shown = ways[first:]
        block = _block(name, f"what is needed is {'; '.join(map(_what, shown))}", map(brief_step_of, shown))
        if len(block) <= ROOM:
            break
    return block


def _block(name: str, when: str, steps: Iterable[str]) -> str:
    numbered = "".join(f"{number}. {step}\n" for number, step in enumerate(steps, start=1))
    return f"## {name}\nwhen: {when}\n{numbered}"


def _number(pattern: re.Pattern[str], request: Request) -> int:
    """What the system prompt allows; one where it does not say."""
    found = pattern.search(request.messages[0].content)
    return int(found[1]) if found else 1


ANSWERS = (
    Answer(opens("You extract workflows from a successful episode"), _induce),
    Answer(opens("You tidy a collection of workflows"), _consolidate),
)
