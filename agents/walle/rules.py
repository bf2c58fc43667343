"""Rules as files: ``rules/`` holds actions back, ``pool/`` waits, ``rules.json`` says both in words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ocm.types import Files

ACTIVE, POOL, INDEX = "rules/", "pool/", "rules.json"
VERB_CHARS = 24


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition under which an action fails, in words and as code."""

    number: int
    """Counts all rules that were ever written: a greater one is newer."""
    verb: str
    rule: str
    """The condition in words."""
    check: str
    """How it is to be checked, in words."""
    code: str
    """``rule(state, action) -> (feedback, success, suggestion)``. Model-written."""

    @property
    def name(self) -> str:
        """No name is the beginning of another."""
        verb = re.sub(r"[^a-z0-9]+", "_", self.verb.lower())[:VERB_CHARS].strip("_")
        return f"{verb or 'action'}_{self.number:05}"

    @property
    def lines(self) -> int:
        return len(self.code.splitlines())


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rules that are kept."""

    active: tuple[Rule, ...] = ()
    """Those that hold actions back."""
    pool: tuple[Rule, ...] = ()
    """Those that wait."""
    last: int = 0
    """The number of the newest rule ever written."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.active, *self.pool)


def read(memory: Files) -> RuleBook:
    """The rules in a memory."""
    if INDEX not in memory:
        return RuleBook()
    index = json.loads(memory[INDEX])
    folders = {
        folder: tuple(
            Rule(**told, code=memory[f"{folder}{name}.py"])
            for name, told in index["rules"].items()
            if f"{folder}{name}.py" in memory
        )
        for folder in (ACTIVE, POOL)
    }
    return RuleBook(folders[ACTIVE], folders[POOL], index["last"])


def written(book: RuleBook) -> dict[str, str]:
    """The files of a rule book; none before the first rule."""
    if not book.last:
        return {}
    told = {rule.name: _told(rule) for rule in sorted(book.rules, key=lambda rule: rule.number)}
    index = json.dumps({"last": book.last, "rules": told}, indent=1, ensure_ascii=False)
    return {INDEX: f"{index}\n", **_code(ACTIVE, book.active), **_code(POOL, book.pool)}


def _told(rule: Rule) -> dict[str, object]:
    return {key: value for key, value in asdict(rule).items() if key != "code"}


def _code(folder: str, rules: Sequence[Rule]) -> dict[str, str]:
    return {f"{folder}{rule.name}.py": rule.code for rule in rules}
