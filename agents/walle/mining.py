"""The learning requests: predict, mine rules, write them as code."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from agents.asking import ask
from agents.buffer import verb_of
from agents.prompts import fill
from agents.protocol import Bench
from agents.walle import replies
from agents.walle.checking import BUILTINS, CODE_CHARS, MODULES
from agents.walle.replies import Functions, Mined, Predictions, reader
from agents.walle.rules import Rule
from agents.walle.settings import WalleSettings
from agents.walle.transitions import RECENT, Key, Played, Taken
from ocm.types import Message

PROMPTS = "agents.walle.prompts"
AFTER_CHARS = 600
"""Characters shown of what an action led to."""
RULES_PER_VERB = 4
"""Rules that are taken from one mining reply."""


@dataclass(frozen=True, slots=True)
class Case:
    """One transition with the episode it is of."""

    played: Played
    step: int

    @property
    def key(self) -> Key:
        return Key(self.played.number, self.step)

    @property
    def taken(self) -> Taken:
        return self.played.steps[self.step]

    @property
    def verb(self) -> str:
        return verb_of(self.taken.action)


def cases(episodes: Iterable[Played]) -> list[Case]:
    """All transitions of these episodes."""
    return [Case(played, key.step) for played in episodes for key in played.transitions()]


# --- predict -----------------------------------------------------------------------------------


def to_predict(found: Sequence[Case], batch: int, chance: random.Random) -> list[Case]:
    """The failures, and as many successes: at most ``batch``, in order. None where nothing failed."""
    failed = [case for case in found if not case.taken.success]
    chosen = _some(failed, batch, chance)
    succeeded = [case for case in found if case.taken.success]
    chosen += _some(succeeded, min(len(failed), batch - len(chosen)), chance)
    return sorted(chosen, key=lambda case: case.key)


def _some(found: Sequence[Case], most: int, chance: random.Random) -> list[Case]:
    return list(found) if len(found) <= most else chance.sample(found, most)


async def predict(bench: Bench, chosen: Sequence[Case]) -> dict[Key, bool]:
    """What the model, as world model, says of each action's success.

    Raises:
        UnreadableReply: two replies in a row held no predictions.
    """
    numbered = dict(enumerate(chosen, start=1))
    read = reader(
        Predictions,
        lambda said: any(one.number in numbered for one in said.predictions),
        "no prediction has the number of an action",
    )
    shown = _shown(chosen, with_outcome=False)
    messages = _messages(fill(PROMPTS, "predict_system"), fill(PROMPTS, "predict_user", episodes=shown))
    said, _ = await ask(bench, "predict", messages, read, replies.PREDICTIONS, 0.0)
    return {numbered[one.number].key: one.success for one in said.predictions if one.number in numbered}


# --- mine --------------------------------------------------------------------------------------


def to_mine(found: Sequence[Case], foreseen: frozenset[Key], settings: WalleSettings) -> list[str]:
    """The verbs with most failures that neither the model nor a rule foresaw."""
    wrong = Counter(case.verb for case in found if is_surprise(case, foreseen))
    return sorted(wrong, key=lambda verb: (-wrong[verb], verb))[: settings.mined_verbs]


def is_surprise(case: Case, foreseen: frozenset[Key]) -> bool:
    """Whether an action failed that was predicted to succeed, and that no rule would have held back."""
    return case.taken.success is False and case.taken.foreseen is True and case.key not in foreseen


def of_verb(
    verb: str, found: Sequence[Case], foreseen: frozenset[Key], batch: int, chance: random.Random
) -> list[Case]:
    """A verb's transitions, surprises first: at most ``batch``, in order."""
    own = [case for case in found if case.verb == verb]
    surprises = _some([case for case in own if is_surprise(case, foreseen)], batch, chance)
    others = [case for case in own if case not in surprises]
    return sorted(surprises + _some(others, batch - len(surprises), chance), key=lambda case: case.key)


async def mine(
    bench: Bench, verb: str, chosen: Sequence[Case], known: Sequence[Rule], temperature: float
) -> Mined:
    """Failure conditions of one verb, in words.

    Raises:
        UnreadableReply: two replies in a row held no rules.
    """
    read = reader(Mined, lambda said: True, "")
    user = fill(
        PROMPTS,
        "mine_user",
        verb=verb,
        most=RULES_PER_VERB,
        known="\n".join(f"- `{rule.name}`: {rule.rule}" for rule in known) or "Nothing yet.",
        episodes=_shown(chosen, with_outcome=True),
    )
    messages = _messages(fill(PROMPTS, "mine_system", recent=RECENT), user)
    said, _ = await ask(bench, "mine", messages, read, replies.MINED, temperature)
    return said


class Draft(NamedTuple):
    """A new rule without code."""

    rule: Rule
    improves: str
    """Name of the known rule that it puts better; empty where it puts none."""


def drafts(verb: str, mined: Mined, known: Sequence[Rule], last: int) -> list[Draft]:
    """The mined rules that are not known in these words yet, numbered after ``last``."""
    told, names = {rule.rule for rule in known}, {rule.name for rule in known}
    new = {words: one for one in mined.rules if (words := replies.words(one.rule)) not in told}
    return [
        Draft(
            Rule(last + count, verb, words, replies.words(one.check), ""),
            one.improves if one.improves in names else "",
        )
        for count, (words, one) in enumerate(list(new.items())[:RULES_PER_VERB], start=1)
    ]


# --- code --------------------------------------------------------------------------------------


async def code(bench: Bench, rules: Sequence[Rule], examples: Mapping[str, Case]) -> dict[int, str]:
    """Code by the rule's place in ``rules``, counted from 1; not checked yet.

    Args:
        bench: where it is asked for.
        rules: without code.
        examples: by verb, an action and what was seen before it.

    Raises:
        UnreadableReply: two replies in a row held no code.
    """
    places = range(1, len(rules) + 1)
    read = reader(
        Functions,
        lambda said: any(one.number in places for one in said.functions),
        "no function has the number of a rule",
    )
    told = [
        f"[{place}] verb `{rule.verb}`: {rule.rule}\n    check: {rule.check or 'as you see fit'}"
        for place, rule in zip(places, rules, strict=True)
    ]
    system = fill(
        PROMPTS,
        "code_system",
        recent=RECENT,
        modules=", ".join(sorted(MODULES)),
        names=" ".join(sorted(BUILTINS)),
        most=CODE_CHARS,
    )
    shown = _shown(list(examples.values()), with_outcome=True)
    messages = _messages(system, fill(PROMPTS, "code_user", rules="\n".join(told), examples=shown))
    said, _ = await ask(bench, "code", messages, read, replies.FUNCTIONS, 0.0)
    return {one.number: replies.unfenced(one.code) for one in said.functions if one.number in places}


# --- prompts -----------------------------------------------------------------------------------


def _messages(system: str, user: str) -> tuple[Message, Message]:
    return Message("system", system), Message("user", user)


def _shown(chosen: Sequence[Case], *, with_outcome: bool) -> str:
    """Transitions, numbered from 1, under the task of their episode."""
    parts = []
    numbered = enumerate(chosen, start=1)
    for played, group in groupby(numbered, key=lambda one: one[1].played):
        entries = [_entry(number, case, with_outcome) for number, case in group]
        parts.append(f"# Task\n{played.goal}\n\n# Actions\n" + "\n".join(entries))
    return "\n\n".join(parts)


def _entry(number: int, case: Case, with_outcome: bool) -> str:
    before, taken = case.played.before(case.step), case.taken
    recent = [one.action for one in case.played.steps[max(0, case.step - RECENT) : case.step]]
    told = f"[{number}] before:\n{before}\n    recent actions: {'; '.join(recent) or 'none'}\n"
    told += f"    action: {' '.join(taken.action.split())}"
    if not with_outcome:
        return told
    after = "(as before)" if taken.observation == before else taken.observation[:AFTER_CHARS]
    return f"{told}\n    outcome: {_outcome(taken)}\nafter:\n{after}"


def _outcome(taken: Taken) -> str:
    came = "succeeded" if taken.success else "failed"
    if taken.foreseen is None:
        return came
    said = "success" if taken.foreseen else "failure"
    return f"{came}, {'as' if taken.foreseen is taken.success else 'but'} predicted: {said}"
