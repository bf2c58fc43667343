"""The goal, as far as its text says step by step what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_TASK = re.compile(r"Your task is to (.+)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=\.)\s+")
_PLACE = re.compile(r"\b(?:in|around|near) the '?([a-z][a-z ]*?)'?(?: location)?\s*(?:[.,]|$)")
_FOCUS = re.compile(r"focus on (?:the |an? )?(.+?)(?: you created)?\s*(?:[.,]|$)", re.IGNORECASE)
_BRANCH = re.compile(
    r"^If (?:the )?(.+?), (place it in|focus on|move it to) (?:the )?(.+?)\.?$", re.IGNORECASE
)
_MOVE = re.compile(r"move it to (?:the )?(.+?) in (?:the )?(.+?)\.", re.IGNORECASE)
_BOUND = re.compile(r"(above|below) (-?\d+(?:\.\d+)?)")
_OPTIONS = re.compile(r"\(([^()]+, [^()]+)\)")
_STAGES = re.compile(r"stages of (?:the )?(.+?)(?:,|\.|$)")
_PRONOUNS = frozenset({"it", "thing", "substance"})
_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class Branch:
    """What to do where a condition holds."""

    condition: str
    verb: str
    thing: str

    def holds_at(self, degrees: float) -> bool | None:
        """Whether the condition holds at this temperature; None where it tells of none."""
        bound = _BOUND.search(self.condition)
        if not bound:
            return None
        return degrees > float(bound[2]) if bound[1] == "above" else degrees < float(bound[2])


@dataclass(frozen=True)
class Goal:
    """A task's text in parts; what it does not have is empty."""

    verb: str
    """The first word of what is to be done."""
    subject: str
    """What it is to be done to."""
    focuses: tuple[str, ...] = ()
    """What to focus on by name, in order."""
    described: tuple[str, ...] = ()
    """What to focus on that is only described, in order."""
    options: tuple[str, ...] = ()
    """What the described may be."""
    stages: str = ""
    """Whose stages to focus on."""
    branches: tuple[Branch, ...] = ()
    box: str = ""
    """Where to move what was found, and the room of it."""
    box_room: str = ""
    places: tuple[str, ...] = ()
    """Rooms that the text names."""
    product: str = ""
    """What is to be made."""


@lru_cache(maxsize=256)
def goal_in(text: str) -> Goal | None:
    """The goal that a text states, or None."""
    found = _TASK.search(text)
    if not found:
        return None
    task = found[1].partition("\n\n")[0]
    first, *rest = _SENTENCE.split(task.strip())
    verb, _, tail = first.rstrip(".").partition(" ")
    subject = _subject(tail)
    plain = [sentence for sentence in (first, *rest) if not sentence.startswith("If ")]
    named, described, stages = _focuses(plain, subject, tail)
    moved, branches = _MOVE.search(task), _branches(rest)
    boxes = {branch.thing for branch in branches}
    return Goal(
        verb=verb.lower(),
        subject=subject,
        focuses=named,
        described=described,
        options=_options(tail),
        stages=stages,
        branches=branches,
        box=moved[1] if moved else "",
        box_room=moved[2] if moved else "",
        places=tuple(place for place in dict.fromkeys(_PLACE.findall(task)) if place not in boxes),
        product=_product(tail),
    )


def _subject(tail: str) -> str:
    """``measure the melting point of tin, which …`` gives ``tin``."""
    head = re.split(r",| by | from | is | and | in the | \(", tail)[0]
    text = head.rpartition(" of ")[2]
    text = re.sub(r"^(?:determine if|whether|use \w+ to \w+) ", "", text)
    return re.sub(r"^(?:on |a\(n\) |an? |the |if )+", "", text).strip(" '.")


def _focuses(plain: list[str], subject: str, tail: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    named: list[str] = []
    described: list[str] = []
    stages = ""
    for sentence in plain:
        for thing in _FOCUS.findall(sentence):
            if of := _STAGES.search(f"{thing},"):
                stages = of[1]
            elif thing in _PRONOUNS:
                unnamed = tail.startswith("a(n) ")
                (described if unnamed else named).append(subject)
            elif " with the " in thing:
                described.append(thing)
            elif "(" not in thing:
                named.append(thing)
    return tuple(named), tuple(dict.fromkeys(described)), stages


def _branches(sentences: list[str]) -> tuple[Branch, ...]:
    found = (_BRANCH.match(sentence) for sentence in sentences)
    return tuple(Branch(match[1], match[2].lower().split()[0], match[3]) for match in found if match)


def _options(tail: str) -> tuple[str, ...]:
    """``two shelves (A, B)`` gives ``A`` and ``B``."""
    found = _OPTIONS.search(tail)
    return tuple(part.strip() for part in found[1].split(",")) if found else ()


def _product(tail: str) -> str:
    made = re.search(r"\bto create (.+)", tail)
    if not made:
        return ""
    quoted = _QUOTED.search(made[1])
    return (quoted[1] if quoted else made[1]).strip(" .")
